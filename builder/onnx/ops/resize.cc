// Resize and its predecessor Upsample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"

namespace planwright::builder::importer {
namespace {

ResizeMode read_mode(const NodeContext& node) {
  const std::string mode = node.get_string("mode", "nearest");
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "cubic") return ResizeMode::kCubic;
  node.invalid(fmt::format("mode '{}' is unknown", mode));
}

ResizeCoordinates read_coordinates(const NodeContext& node) {
  if (node.node().op_type() == "Upsample" || node.since() < 11) return ResizeCoordinates::kAsymmetric;
  const std::string mode = node.get_string("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (mode == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (mode == "asymmetric") return ResizeCoordinates::kAsymmetric;
  if (mode == "align_corners") return ResizeCoordinates::kAlignCorners;
  if (mode == "half_pixel_symmetric") return ResizeCoordinates::kHalfPixelSymmetric;
  if (mode == "tf_crop_and_resize") return ResizeCoordinates::kTfCropAndResize;
  if (mode == "tf_half_pixel_for_nn") return ResizeCoordinates::kTfHalfPixelForNearest;
  node.invalid(fmt::format("coordinate_transformation_mode '{}' is unknown", mode));
}

// Before opset 11 the rounding is not said; what shrinks takes the later pixel, as ONNX's example for opset 10 does.
ResizeRounding old_rounding(const NodeContext& node, const std::vector<double>& scales) {
  const auto shrinks = [](double scale) { return scale != 0 && scale < 1; };
  const auto enlarges = [](double scale) { return scale > 1; };
  if (read_mode(node) != ResizeMode::kNearest) return ResizeRounding::kFloor;  // rounds nothing
  const bool any = std::any_of(scales.begin(), scales.end(), shrinks);
  if (any && std::any_of(scales.begin(), scales.end(), enlarges)) {
    node.unsupported("it shrinks one axis and enlarges another; convert the model to opset 11 or later");
  }
  return any ? ResizeRounding::kCeil : ResizeRounding::kFloor;
}

ResizeRounding read_rounding(const NodeContext& node, const std::vector<double>& scales) {
  if (node.node().op_type() == "Upsample" || node.since() < 11) return old_rounding(node, scales);
  const std::string mode = node.get_string("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return ResizeRounding::kRoundPreferFloor;
  if (mode == "round_prefer_ceil") return ResizeRounding::kRoundPreferCeil;
  if (mode == "floor") return ResizeRounding::kFloor;
  if (mode == "ceil") return ResizeRounding::kCeil;
  node.invalid(fmt::format("nearest_mode '{}' is unknown", mode));
}

// floor(length * scale). A float is a fraction with a power of two below, so expressions can be scaled exactly.
Dim scaled(const NodeContext& node, Dim length, float scale) {
  node.require(std::isfinite(scale) && scale > 0, fmt::format("scale {} is not a positive number", scale));
  if (length.is_constant()) {
    const float scaled_length = std::floor(scale * static_cast<float>(length.constant()));
    node.require(scaled_length < 0x1p31f, fmt::format("scale {} makes axes too long", scale));
    return static_cast<int64_t>(scaled_length);
  }
  int exponent = 0;
  const auto mantissa =
      static_cast<int64_t>(std::ldexp(std::frexp(scale, &exponent), 24));  // scale = mantissa*2^(e-24)
  exponent -= 24;
  node.require(exponent > -62 && exponent < 32, fmt::format("scale {} is out of range", scale));
  if (exponent >= 0) return length * mantissa * (int64_t{1} << exponent);
  return ir::floor_div(length * mantissa, int64_t{1} << -exponent);
}

// The axes that sizes, scales and roi speak of; all of them unless opset 18's attribute says which.
std::vector<int> resized_axes(const NodeContext& node) {
  std::vector<int> axes;
  if (node.has_attribute("axes")) {
    for (const int64_t axis : node.get_ints("axes"))
      axes.push_back(node.normalize_axis(axis, node.in_rank(0), "axes entry"));
  } else {
    for (int i = 0; i < node.in_rank(0); ++i) axes.push_back(i);
  }
  return axes;
}

bool is_given(const NodeContext& node, int input) {
  return node.has(input) && !(ir::product(node.in_dims(input)) == Dim(0));
}

struct Target {
  Shape dims;
  std::vector<double> scales;  // an axis each; 0: output/input
};

// Sizes with a policy other than stretch keep the aspect ratio: one scale for all axes, the smallest or largest.
void keep_aspect_ratio(const NodeContext& node, const std::vector<int>& axes, bool larger, Target& target) {
  double best = 0;
  for (const int axis : axes) {
    const Dim from = node.in_dims(0)[static_cast<size_t>(axis)], to = target.dims[static_cast<size_t>(axis)];
    if (!from.is_constant() || !to.is_constant()) node.unsupported("keep_aspect_ratio_policy with dynamic sizes");
    node.require(from.constant() >= 1 && to.constant() >= 0,
                 fmt::format("keep_aspect_ratio_policy makes {} of {}", to.constant(), from.constant()));
    const double scale = static_cast<double>(to.constant()) / static_cast<double>(from.constant());
    if (axis == axes.front() || (larger ? scale > best : scale < best)) best = scale;
  }
  for (const int axis : axes) {
    const auto at = static_cast<size_t>(axis);
    const double length = std::floor(best * static_cast<double>(node.in_dims(0)[at].constant()) + 0.5);
    node.require(length < 0x1p31, fmt::format("keep_aspect_ratio_policy makes axis {} too long", axis));
    target.dims[at] = static_cast<int64_t>(length);
    target.scales[at] = best;
  }
}

Target read_target(NodeContext& node, const std::vector<int>& axes, int scales_input, int sizes_input) {
  Target target{node.in_dims(0), std::vector<double>(node.in_dims(0).size(), 0.0)};
  if (sizes_input > 0 && is_given(node, sizes_input)) {
    if (!node.elements(sizes_input))
      node.unsupported("'sizes' is computed from data without bounds; make it a constant");
    const Shape& sizes = *node.elements(sizes_input);
    node.require(sizes.size() == axes.size(),
                 fmt::format("'sizes' has {} numbers for {} axes", sizes.size(), axes.size()));
    for (size_t k = 0; k < axes.size(); ++k) target.dims[static_cast<size_t>(axes[k])] = sizes[k];
    const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") keep_aspect_ratio(node, axes, policy == "not_smaller", target);
    require_bounded(node, target.dims);
    return target;
  }
  std::vector<double> scales;
  if (node.has_attribute("scales")) {
    for (const float scale : node.get_floats("scales")) scales.push_back(static_cast<double>(scale));
  } else {
    node.require(is_given(node, scales_input), "it has neither scales nor sizes");
    scales = node.constant_doubles(scales_input, "scales");
  }
  node.require(scales.size() == axes.size(),
               fmt::format("'scales' has {} numbers for {} axes", scales.size(), axes.size()));
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto at = static_cast<size_t>(axes[k]);
    target.dims[at] = scaled(node, target.dims[at], static_cast<float>(scales[k]));
    target.scales[at] = scales[k];
  }
  return target;
}

void resize(NodeContext& node) {
  const bool has_roi = node.node().op_type() == "Resize" && node.since() >= 11;
  const std::vector<int> axes = resized_axes(node);
  ResizeParams params;
  params.mode = read_mode(node);
  params.coordinates = read_coordinates(node);
  params.exclude_outside = node.get_int("exclude_outside", 0) != 0 ? 1 : 0;
  params.antialias = node.get_int("antialias", 0) != 0 ? 1 : 0;
  params.cubic_a = node.get_float("cubic_coeff_a", -0.75f);
  params.extrapolation = node.get_float("extrapolation_value", 0.0f);
  const Target target = read_target(node, axes, has_roi ? 2 : 1, has_roi ? 3 : 0);
  params.rounding = read_rounding(node, target.scales);
  for (size_t i = 0; i < target.scales.size(); ++i) {
    params.scale[i] = target.scales[i];
    params.roi_end[i] = 1;
    node.require(ir::range_of(target.dims[i]).max >= 0, "a size is negative");
  }
  if (params.coordinates == ResizeCoordinates::kTfCropAndResize) {
    const std::vector<double> roi = node.constant_doubles(1, "roi");
    node.require(roi.size() == 2 * axes.size(),
                 fmt::format("'roi' has {} numbers for {} axes", roi.size(), axes.size()));
    for (size_t k = 0; k < axes.size(); ++k) {
      params.roi_start[axes[k]] = roi[k];
      params.roi_end[axes[k]] = roi[k + axes.size()];
    }
  }
  Operation operation{OpKind::kResize, params, {node.in(0)}};
  operation.results[0].dims = target.dims;
  node.set(0, node.emit_one(std::move(operation)));
}

constexpr ImporterRow kRows[] = {
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

ImporterTable resize_importers() { return kRows; }

}  // namespace planwright::builder::importer
