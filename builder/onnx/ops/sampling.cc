// Operators that read or write an image at places of their own: GridSample, RoiAlign, DeformConv, Col2Im, MaxUnpool.
#include <fmt/format.h>

#include <numeric>

#include "builder/ir/infer.h"
#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"

namespace planwright::builder::importer {
namespace {

void require_rank(const NodeContext& node, int input, int rank) {
  node.require(node.in_rank(input) == rank,
               fmt::format("its input {} has {} axes, not {}", input, node.in_rank(input), rank));
}

void grid_sample(NodeContext& node) {
  GridSampleParams params;
  const std::string mode = node.get_string("mode", "linear"), padding = node.get_string("padding_mode", "zeros");
  if (mode == "nearest") {
    params.mode = GridSampleMode::kNearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    params.mode = GridSampleMode::kCubic;
  } else {
    node.require(mode == "linear" || mode == "bilinear", fmt::format("mode '{}' is unknown", mode));
  }
  if (padding == "border") {
    params.padding = GridSamplePadding::kBorder;
  } else if (padding == "reflection") {
    params.padding = GridSamplePadding::kReflection;
  } else {
    node.require(padding == "zeros", fmt::format("padding_mode '{}' is unknown", padding));
  }
  params.align_corners = node.get_int("align_corners") != 0 ? 1 : 0;
  if (node.in_rank(0) > kMaxSpatial + 2) {
    node.unsupported(fmt::format("{} spatial axes; the most is {}", node.in_rank(0) - 2, kMaxSpatial));
  }
  for (int i = 2; i < node.in_rank(0); ++i) {
    node.guard_at_most(1, node.in_dims(0)[static_cast<size_t>(i)], "the image must not be empty");
  }
  node.set(0, node.emit_one({OpKind::kGridSample, params, {node.in(0), node.in(1)}}));
}

void roi_align(NodeContext& node) {
  RoiAlignParams params;
  const std::string mode = node.get_string("mode", "avg");
  node.require(mode == "avg" || mode == "max", fmt::format("mode '{}' is unknown", mode));
  params.mode = mode == "max" ? RoiAlignMode::kMax : RoiAlignMode::kAverage;
  const int64_t height = node.get_int("output_height", 1), width = node.get_int("output_width", 1);
  const int64_t samples = node.get_int("sampling_ratio", 0);
  node.require(height >= 1 && width >= 1 && height < (1 << 16) && width < (1 << 16),
               fmt::format("regions of {} x {} cells", height, width));
  node.require(samples >= 0, fmt::format("sampling_ratio is {}", samples));
  if (samples > kMaxSamplingRatio) {
    node.unsupported(fmt::format("a sampling_ratio of {}; the most is {}", samples, kMaxSamplingRatio));
  }
  params.height = static_cast<int32_t>(height);
  params.width = static_cast<int32_t>(width);
  params.sampling_ratio = static_cast<int32_t>(samples);
  params.spatial_scale = node.get_float("spatial_scale", 1);
  // Before opset 16 there was only what is called output_half_pixel since.
  const std::string coordinates =
      node.since() < 16 ? "output_half_pixel" : node.get_string("coordinate_transformation_mode", "half_pixel");
  node.require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
               fmt::format("coordinate_transformation_mode '{}' is unknown", coordinates));
  params.half_pixel = coordinates == "half_pixel" ? 1 : 0;
  require_rank(node, 0, 4);
  for (const size_t i : {size_t{2}, size_t{3}}) {
    node.guard_at_most(1, node.in_dims(0)[i], "the image must not be empty");
  }
  node.set(0, node.emit_one({OpKind::kRoiAlign, params, {node.in(0), node.in(1), node.in(2)}}));
}

void deform_conv(NodeContext& node) {
  if (node.in_rank(0) != 4) node.unsupported("an image that has not two spatial axes");
  require_rank(node, 1, 4);
  require_rank(node, 2, 4);
  const int64_t group = node.get_int("group", 1), offset_group = node.get_int("offset_group", 1);
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(group >= 1 && group < kMost && offset_group >= 1 && offset_group < kMost,
               fmt::format("{} groups, {} of offsets", group, offset_group));
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < 4; ++i) {
    if (!node.in_dims(1)[i].is_constant()) node.unsupported("the kernel's size is not a constant");
    kernel.push_back(node.in_dims(1)[i].constant());
  }
  const Window window = read_window(node, node.in_dims(0), std::move(kernel), false);
  DeformConvParams params;
  params.group = static_cast<int32_t>(group);
  params.offset_group = static_cast<int32_t>(offset_group);
  std::vector<ValueId> operands;
  for (const int i : {0, 1, 2}) operands.push_back(node.widened(node.in(i)));
  if (node.has(4)) operands.push_back(node.widened(node.in(4)));
  Operation operation{OpKind::kDeformConv, params, std::move(operands), window.begin};
  auto& strides = std::get<DeformConvParams>(operation.params);
  for (size_t i = 0; i < 2; ++i) {
    strides.stride[i] = static_cast<int32_t>(window.stride[i]);
    strides.dilation[i] = static_cast<int32_t>(window.dilation[i]);
    node.guard_equal(node.in_dims(2)[i + 2], window.out[i], "offsets for every place of the window");
  }
  node.set(0, node.cast(add_channel_bias(node, node.emit_one(std::move(operation)), 3), node.in_type(0)));
}

// Blocks [N, C * block, places] added up to an image: the transposed convolution of each channel with weights that put
// number i of a block at place i of the window.
void col2im(NodeContext& node) {
  require_rank(node, 0, 3);
  const DType dtype = node.in_type(0);
  if (!is_float(dtype)) node.unsupported(fmt::format("blocks of {}", name_of(dtype)));
  const std::vector<int64_t> block = node.constant_ints(2, "block_shape");
  const size_t spatial = block.size();
  if (spatial < 1 || spatial > kMaxSpatial) {
    node.unsupported(fmt::format("{} spatial axes; 1 to {} are", spatial, kMaxSpatial));
  }
  const std::optional<Shape>& image = node.elements(1);
  if (!image) node.unsupported("'image_shape' is computed from data; make it a constant");
  node.require(image->size() == spatial, "'image_shape' and 'block_shape' differ in length");
  const std::vector<int64_t> pads = spatial_ints(node, "pads", 2 * spatial, 0);
  const std::vector<int64_t> strides = spatial_ints(node, "strides", spatial, 1);
  const std::vector<int64_t> dilations = spatial_ints(node, "dilations", spatial, 1);
  if (!node.in_dims(0)[1].is_constant()) node.unsupported("its number of channels is not constant");
  int64_t numbers = 1;
  ConvTransposeParams params;
  params.spatial = static_cast<int32_t>(spatial);
  constexpr int64_t kMost = int64_t{1} << 15;
  for (size_t i = 0; i < spatial; ++i) {
    node.require(block[i] >= 1 && strides[i] >= 1 && dilations[i] >= 1,
                 "blocks, strides and dilations must be 1 or more");
    if (block[i] > kMost || strides[i] > kMost || dilations[i] > kMost)
      node.unsupported("blocks so large or far apart");
    numbers *= block[i];
    params.stride[i] = static_cast<int32_t>(strides[i]);
    params.dilation[i] = static_cast<int32_t>(dilations[i]);
  }
  const int64_t all = node.in_dims(0)[1].constant(), channels = all / numbers;
  node.require(channels >= 1 && channels * numbers == all,
               fmt::format("blocks of {} do not divide {} rows", numbers, all));
  if (all > (int64_t{1} << 26) / numbers) node.unsupported("blocks so large");
  params.group = static_cast<int32_t>(channels);
  Shape places{node.in_dims(0)[0], all}, out{node.in_dims(0)[0], channels}, begin;
  for (size_t i = 0; i < spatial; ++i) {
    const Dim length = (*image)[i];
    node.guard_at_most(dilations[i] * (block[i] - 1) + 1, length + pads[i] + pads[spatial + i],
                       "a block must fit the padded image");
    places.push_back(ir::window_output(length, pads[i], pads[spatial + i], block[i], strides[i], dilations[i], false));
    out.push_back(length);
    begin.push_back(pads[i]);
  }
  const ir::Bytes one = element_bytes(dtype, 1);
  ir::Bytes weights(static_cast<size_t>(all * numbers) * size_of(dtype));
  std::vector<int64_t> dims{all, 1};
  dims.insert(dims.end(), block.begin(), block.end());
  for (int64_t i = 0; i < all; ++i) {
    std::copy(one.begin(), one.end(), weights.begin() + (i * numbers + i % numbers) * static_cast<int64_t>(one.size()));
  }
  Operation operation{OpKind::kConvTranspose,
                      params,
                      {node.reshape(node.in(0), places), node.constant(dtype, dims, std::move(weights))},
                      std::move(begin)};
  operation.results[0] = {dtype, std::move(out)};
  node.set(0, node.emit_one(std::move(operation)));
}

// Puts maxima back where their indices say. These count in the tensor that the window came from; where another shape
// is asked for, that one is cut or filled up at its ends.
void max_unpool(NodeContext& node) {
  const Shape& x = node.in_dims(0);
  node.require(x.size() >= 3 && node.in_rank(1) == node.in_rank(0), "its input and indices must be images");
  const size_t spatial = x.size() - 2;
  const std::vector<int64_t> kernel = node.get_ints("kernel_shape");
  node.require(kernel.size() == spatial,
               fmt::format("'kernel_shape' has {} numbers for {} spatial axes", kernel.size(), spatial));
  const std::vector<int64_t> strides = spatial_ints(node, "strides", spatial, 1);
  const std::vector<int64_t> pads = spatial_ints(node, "pads", 2 * spatial, 0);
  Shape full{x[0], x[1]};
  for (size_t i = 0; i < spatial; ++i) {
    node.guard_equal(node.in_dims(1)[i + 2], x[i + 2], "one index for each number");
    const Dim length = (x[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i];
    node.guard_at_most(1, length, "the pads leave something of the image");
    full.push_back(length);
  }
  const Shape count{ir::product(x)};
  const ValueId zeros = node.fill(node.in_type(0), {ir::product(full)}, 0);
  ValueId y = node.emit_one({OpKind::kScatterElements,
                             ScatterElementsParams{},
                             {zeros, node.reshape(node.in(1), count), node.reshape(node.in(0), count)}});
  y = node.reshape(y, full);
  if (node.has(2)) {
    const std::optional<Shape>& wanted = node.elements(2);
    if (!wanted) node.unsupported("'output_shape' is computed from data; make it a constant");
    node.require(wanted->size() == full.size(), "'output_shape' has not one number for each axis");
    require_bounded(node, *wanted);
    if (*wanted != full) {
      Operation pad{OpKind::kPad, PadParams{}, {y}, Shape(full.size(), Dim(0))};
      for (size_t i = 0; i < full.size(); ++i) {
        node.require(ir::range_of((*wanted)[i]).min >= 0, "'output_shape' may be negative");
        pad.scalars.push_back((*wanted)[i] - full[i]);
      }
      pad.results[0].dims = *wanted;
      y = node.emit_one(std::move(pad));
    }
  }
  node.set(0, y);
}

constexpr ImporterRow kRows[] = {
    {"Col2Im", col2im},          {"DeformConv", deform_conv},
    {"GridSample", grid_sample}, {"GridSample", grid_sample, "com.microsoft"},  // older than ONNX's
    {"MaxUnpool", max_unpool},   {"RoiAlign", roi_align},
};

}  // namespace

ImporterTable sampling_importers() { return kRows; }

}  // namespace planwright::builder::importer
