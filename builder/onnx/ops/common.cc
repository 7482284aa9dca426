#include "builder/onnx/ops/common.h"

#include <fmt/format.h>

#include "builder/ir/infer.h"

namespace planwright::builder::importer {

std::pair<ValueId, ValueId> broadcast_pair(NodeContext& node, bool same_type) {
  const ValueId a = node.in(0);
  ValueId b = node.in(1);
  node.require(
      !same_type || node.dtype(a) == node.dtype(b),
      fmt::format("its inputs are {} and {}, which must be the same", name_of(node.dtype(a)), name_of(node.dtype(b))));
  if (node.since() != 0 && node.since() < 7 && node.get_int("broadcast") != 0 && node.rank(b) < node.rank(a)) {
    const int axis = node.has_attribute("axis") ? node.normalize_axis(node.get_int("axis"), node.rank(a))
                                                : node.rank(a) - node.rank(b);
    Shape dims = node.dims(b);
    node.require(axis + node.rank(b) <= node.rank(a), "'axis' leaves no room for the second input");
    dims.resize(static_cast<size_t>(node.rank(a) - axis), Dim(1));
    b = node.reshape(b, std::move(dims));
  }
  return {a, b};
}

ValueId per_channel(Emitter& emitter, ValueId x, int spatial) {
  if (spatial < 0) {
    throw Error(StatusCode::kInvalid, fmt::format("{}: an operand has too few axes", emitter.layer()));
  }
  Shape dims = emitter.dims(x);
  dims.insert(dims.end(), static_cast<size_t>(spatial), Dim(1));
  return emitter.reshape(x, std::move(dims));
}

Shape without_axes(const Shape& dims, uint32_t mask) {
  Shape rest;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((mask >> i & 1) == 0) rest.push_back(dims[i]);
  }
  return rest;
}

int normalize_split_axis(const NodeContext& node, int64_t axis, int rank) {
  return axis == rank ? rank : node.normalize_axis(axis, rank);
}

std::vector<int64_t> spatial_ints(const NodeContext& node, const std::string& name, size_t spatial, int64_t fallback) {
  std::vector<int64_t> values = node.get_ints(name);
  if (values.empty()) values.assign(spatial, fallback);
  node.require(values.size() == spatial,
               fmt::format("'{}' has {} numbers for {} spatial axes", name, values.size(), spatial));
  return values;
}

void check_window(const NodeContext& node, int64_t kernel, int64_t stride, int64_t dilation) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  node.require(kernel >= 1 && stride >= 1 && dilation >= 1,
               fmt::format("kernel {}, stride {} and dilation {} must be 1 or more", kernel, stride, dilation));
  node.require(kernel < kLimit && stride < kLimit && dilation < kLimit && kernel * dilation < kLimit,
               fmt::format("a window of {} with stride {} and dilation {} is too large", kernel, stride, dilation));
}

Window read_window(NodeContext& node, const Shape& x, std::vector<int64_t> kernel, bool ceil_mode) {
  node.require(x.size() >= 3, fmt::format("its input {} has no spatial axes", ir::to_string(x)));
  const size_t spatial = x.size() - 2;
  if (spatial > kMaxSpatial) node.unsupported(fmt::format("{} spatial axes; the most is {}", spatial, kMaxSpatial));
  Window window;
  window.kernel = std::move(kernel);
  window.stride = spatial_ints(node, "strides", spatial, 1);
  window.dilation = spatial_ints(node, "dilations", spatial, 1);
  node.require(window.kernel.size() == spatial,
               fmt::format("'kernel_shape' has {} numbers for {} spatial axes", window.kernel.size(), spatial));
  const std::string auto_pad = node.get_string("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = spatial_ints(node, "pads", 2 * spatial, 0);

  for (size_t i = 0; i < spatial; ++i) {
    const int64_t k = window.kernel[i], stride = window.stride[i], dilation = window.dilation[i];
    check_window(node, k, stride, dilation);
    const Dim in = x[i + 2];
    const Dim reach = dilation * (k - 1) + 1;
    Dim begin = 0, end = 0, out;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      out = ir::ceil_div(in, stride);
      const Dim total = ir::max((out - 1) * stride + reach - in, 0);
      const Dim half = ir::floor_div(total, 2);
      begin = auto_pad == "SAME_UPPER" ? half : total - half;
      end = total - begin;
    } else {
      if (auto_pad == "NOTSET" || auto_pad.empty()) {
        begin = pads[i];
        end = pads[i + spatial];
        if (pads[i] < 0 || pads[i + spatial] < 0)
          node.unsupported("negative pads; crop with a Slice before it instead");
      } else {
        node.require(auto_pad == "VALID", fmt::format("auto_pad '{}' is unknown", auto_pad));
      }
      // Rounded up, a window that begins on the input counts even where it reaches past it.
      node.guard_at_most(ceil_mode ? reach - stride + 1 : reach, in + begin + end,
                         fmt::format("the window must fit its padded input in axis {}", i + 2));
      out = ir::window_output(in, begin, end, k, stride, dilation, ceil_mode);
    }
    window.begin.push_back(begin);
    window.end.push_back(end);
    window.out.push_back(out);
  }
  return window;
}

}  // namespace planwright::builder::importer
