// Convolutions.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// The kernel's spatial dims: those of the weights, which must be known and agree with the attribute.
std::vector<int64_t> kernel_of(const NodeContext& node, ValueId weights) {
  const Shape& dims = node.dims(weights);
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < dims.size(); ++i) {
    if (!dims[i].is_constant()) node.unsupported("the kernel's size is not a constant");
    kernel.push_back(dims[i].constant());
  }
  const std::vector<int64_t> declared = node.get_ints("kernel_shape");
  node.require(declared.empty() || declared == kernel, fmt::format("kernel_shape [{}] is unlike its weights {}",
                                                                   fmt::join(declared, ", "), ir::to_string(dims)));
  return kernel;
}

int32_t group_of(const NodeContext& node) {
  const int64_t group = node.get_int("group", 1);
  node.require(group >= 1 && group < (int64_t{1} << 31), fmt::format("group is {}, it must be 1 or more", group));
  return static_cast<int32_t>(group);
}

void check_operands(const NodeContext& node, ValueId x, ValueId w) {
  node.require(node.rank(x) == node.rank(w), fmt::format("its input {} and weights {} differ in rank",
                                                         ir::to_string(node.dims(x)), ir::to_string(node.dims(w))));
  node.require(node.rank(x) >= 3, fmt::format("its input {} has no spatial axes", ir::to_string(node.dims(x))));
  node.require(node.dtype(x) == node.dtype(w), "its input and weights have different types");
  for (const size_t axis : {size_t{0}, size_t{1}}) {
    node.require(ir::range_of(node.dims(w)[axis]).max > 0, "its weights have no channels");
  }
}

template <typename Params>
Params window_params(const Window& window, int32_t group) {
  Params params;
  params.spatial = static_cast<int32_t>(window.kernel.size());
  params.group = group;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    params.stride[i] = static_cast<int32_t>(window.stride[i]);
    params.dilation[i] = static_cast<int32_t>(window.dilation[i]);
  }
  return params;
}

}  // namespace

ValueId add_channel_bias(NodeContext& node, ValueId y, int bias) {
  if (!node.has(bias)) return y;
  node.require(node.in_rank(bias) == 1, "its bias must have one axis");
  node.guard_equal(node.in_dims(bias)[0], node.dims(y)[1], "one bias for each channel");
  return node.binary(PwOp::kAdd, y, per_channel(node, node.cast(node.in(bias), node.dtype(y)), node.rank(y) - 2));
}

ValueId conv_of(NodeContext& node, ValueId x, ValueId w) {
  check_operands(node, x, w);
  const int32_t group = group_of(node);
  node.guard_equal(node.dims(x)[1], node.dims(w)[1] * group,
                   fmt::format("the input's channels and those of the weights times group {}", group));
  node.require(!node.dims(w)[0].is_constant() || node.dims(w)[0].constant() % group == 0,
               fmt::format("group {} does not divide its {} output channels", group, to_string(node.dims(w)[0])));
  const Window window = read_window(node, node.dims(x), kernel_of(node, w), false);
  x = node.widened(x);
  Operation operation{OpKind::kConv, window_params<ConvParams>(window, group), {x, node.widened(w)}, window.begin};
  Shape out{node.dims(x)[0], node.dims(w)[0]};
  out.insert(out.end(), window.out.begin(), window.out.end());
  operation.results[0] = {node.dtype(x), std::move(out)};
  return node.emit_one(std::move(operation));
}

namespace {

void conv(NodeContext& node) {
  const ValueId y = add_channel_bias(node, conv_of(node, node.in(0), node.in(1)), 2);
  node.set(0, node.cast(y, node.in_type(0)));
}

// The output's spatial dims and the pads at their beginning. ONNX gives either the pads, or the dims to pad to.
struct TransposedWindow {
  Window window;
  Shape begin, out;
};

TransposedWindow read_transposed_window(NodeContext& node, const Shape& x, std::vector<int64_t> kernel) {
  const size_t spatial = x.size() - 2;
  if (spatial > kMaxSpatial) node.unsupported(fmt::format("{} spatial axes; the most is {}", spatial, kMaxSpatial));
  node.require(kernel.size() == spatial, "its weights and input differ in rank");
  TransposedWindow result;
  Window& window = result.window;
  window.kernel = std::move(kernel);
  window.stride = spatial_ints(node, "strides", spatial, 1);
  window.dilation = spatial_ints(node, "dilations", spatial, 1);
  const std::vector<int64_t> pads = spatial_ints(node, "pads", 2 * spatial, 0);
  const std::vector<int64_t> extra = spatial_ints(node, "output_padding", spatial, 0);
  const std::vector<int64_t> wanted = node.get_ints("output_shape");
  const std::string auto_pad = node.get_string("auto_pad", "NOTSET");
  node.require(wanted.empty() || wanted.size() == spatial || wanted.size() == spatial + 2,
               "'output_shape' does not fit the spatial axes");
  for (size_t i = 0; i < spatial; ++i) {
    check_window(node, window.kernel[i], window.stride[i], window.dilation[i]);
    node.require(extra[i] >= 0, "'output_padding' must not be negative");
    const Dim reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    const Dim full = (x[i + 2] - 1) * window.stride[i] + reach + extra[i];
    if (!wanted.empty() || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const Dim out = wanted.empty() ? x[i + 2] * window.stride[i] : Dim(wanted[wanted.size() - spatial + i]);
      const Dim total = ir::max(full - out, 0);
      const Dim half = ir::floor_div(total, 2);
      result.begin.push_back(auto_pad == "SAME_UPPER" ? half : total - half);
      result.out.push_back(out);
    } else {
      const bool given = auto_pad == "NOTSET" || auto_pad.empty();
      node.require(given || auto_pad == "VALID", fmt::format("auto_pad '{}' is unknown", auto_pad));
      const Dim out = given ? full - pads[i] - pads[i + spatial] : full;
      node.guard_at_most(1, out, fmt::format("the pads leave nothing of axis {}", i + 2));
      result.begin.push_back(given ? Dim(pads[i]) : Dim(0));
      result.out.push_back(out);
    }
  }
  return result;
}

void conv_transpose(NodeContext& node) {
  ValueId x = node.in(0), w = node.in(1);
  check_operands(node, x, w);
  x = node.widened(x);
  w = node.widened(w);
  const int32_t group = group_of(node);
  node.guard_equal(node.dims(x)[1], node.dims(w)[0], "the input's channels and the weights'");
  node.require(!node.dims(w)[0].is_constant() || node.dims(w)[0].constant() % group == 0,
               fmt::format("group {} does not divide its {} input channels", group, to_string(node.dims(w)[0])));
  const TransposedWindow window = read_transposed_window(node, node.dims(x), kernel_of(node, w));
  Operation operation{
      OpKind::kConvTranspose, window_params<ConvTransposeParams>(window.window, group), {x, w}, window.begin};
  Shape out{node.dims(x)[0], node.dims(w)[1] * group};
  out.insert(out.end(), window.out.begin(), window.out.end());
  operation.results[0] = {node.dtype(x), std::move(out)};
  node.set(0, node.cast(add_channel_bias(node, node.emit_one(std::move(operation)), 2), node.in_type(0)));
}

constexpr ImporterRow kRows[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

ImporterTable conv_importers() { return kRows; }

}  // namespace planwright::builder::importer
