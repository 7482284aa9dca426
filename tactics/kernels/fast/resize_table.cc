#include "tactics/kernels/fast/resize_table.h"

#include "tactics/kernels/reference/resize_axis.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

int taps_of(ResizeMode mode) { return mode == ResizeMode::kNearest ? 1 : mode == ResizeMode::kLinear ? 2 : 4; }

bool is_kept(const KernelArgs& args, int axis) {
  const double scale = args.params_as<ResizeParams>().scale[axis];
  return args.inputs[0].dims[axis] == args.outputs[0].dims[axis] && (scale == 0 || scale == 1);
}

constexpr size_t kTapBytes = sizeof(int64_t) + sizeof(float);

}  // namespace

Status validate_resize_table(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kResize).validate(args));
  const auto& params = args.params_as<ResizeParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank < 3 || x.rank > 2 + kMaxSpatial) {
    return error(StatusCode::kUnsupported, "%d spatial axes", x.rank - 2);
  }
  if (params.antialias != 0) return error(StatusCode::kUnsupported, "antialiasing takes any number of taps");
  if (params.coordinates == ResizeCoordinates::kTfCropAndResize) {
    return error(StatusCode::kUnsupported, "crops, and extrapolates outside");
  }
  // Half a pixel on, even an axis that keeps its length is not copied.
  if (params.coordinates == ResizeCoordinates::kTfHalfPixelForNearest || !is_kept(args, 0) || !is_kept(args, 1)) {
    return error(StatusCode::kUnsupported, "batch or channels are resized");
  }
  if (x.dims[1] > 1 && (x.strides[1] != 1 || y.strides[1] != 1)) {
    return error(StatusCode::kUnsupported, "channels are not innermost");
  }
  for (int axis = 2; axis < y.rank; ++axis) {
    constexpr int64_t kMost = int64_t{1} << 31;  // the table's size cannot overflow
    if (y.dims[axis] > kMost) return error(StatusCode::kUnsupported, "%ld elements along axis %d", y.dims[axis], axis);
  }
  return kOkStatus;
}

size_t resize_table_size(const KernelArgs& args) {
  const size_t taps = static_cast<size_t>(taps_of(args.params_as<ResizeParams>().mode));
  size_t positions = ResizeTable::kAxes;
  for (int axis = 2; axis < args.outputs[0].rank; ++axis) positions += static_cast<size_t>(args.outputs[0].dims[axis]);
  return positions * taps * kTapBytes;
}

ResizeTable make_resize_table(const KernelArgs& args, std::byte* memory) {
  const auto& params = args.params_as<ResizeParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int taps = taps_of(params.mode);
  int64_t* offset = reinterpret_cast<int64_t*>(memory);
  float* weight = reinterpret_cast<float*>(memory + resize_table_size(args) / kTapBytes * sizeof(int64_t));
  ResizeTable table;
  for (int i = 0; i < ResizeTable::kAxes; ++i) {
    ResizeAxis& to = table.axes[i];
    to.offsets = offset;
    to.weights = weight;
    const int axis = y.rank - ResizeTable::kAxes + i;
    if (axis < 2) {
      *offset++ = 0;
      *weight++ = 1.0f;
      continue;
    }
    const int64_t in = x.dims[axis];
    to.length = y.dims[axis];
    to.stride = y.strides[axis];
    to.taps = taps;
    const double scale = reference::scale_of(params, axis, in, to.length);
    for (int64_t index = 0; index < to.length; ++index) {
      const reference::Taps at = reference::taps_at(params, axis, index, in, to.length);
      for (int tap = 0; tap < taps; ++tap) {
        const bool is_there = tap < at.count;
        *offset++ = is_there ? reference::index_of(at, tap, in) * x.strides[axis] : 0;
        *weight++ = is_there ? static_cast<float>(reference::weight(params, at, tap, scale, in) / at.sum) : 0.0f;
      }
    }
  }
  return table;
}

}  // namespace planwright
