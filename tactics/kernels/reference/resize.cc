// Resize, as the ONNX operator defines it: along each axis an output position maps to a real input coordinate, and the
// value there is a weighted sum of the input elements around it.
#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// One axis at one output position.
struct Taps {
  int64_t first = 0;  // input index of tap 0; may lie outside, where the edge is repeated
  int64_t count = 1;
  double ratio = 1;  // where between taps count/2-1 and count/2 the coordinate lies, in (0, 1]
  double sum = 1;    // of the weights
  bool extrapolated = false;
};

double scale_of(const ResizeParams& params, int axis, int64_t in, int64_t out) {
  return params.scale[axis] != 0 ? params.scale[axis] : static_cast<double>(out) / static_cast<double>(in);
}

// The input coordinate of output index `index`.
double coordinate(const ResizeParams& params, int axis, int64_t index, int64_t in_dim, int64_t out_dim) {
  const double x = static_cast<double>(index), in = static_cast<double>(in_dim), out = static_cast<double>(out_dim);
  const double scale = scale_of(params, axis, in_dim, out_dim);
  // ONNX's formulas take the length before it is rounded down to whole elements.
  const double length = params.scale[axis] != 0 ? in * scale : out;
  const double half_pixel = params.scale[axis] != 0 ? (x + 0.5) / scale - 0.5 : (x + 0.5) * in / out - 0.5;
  switch (params.coordinates) {
    case ResizeCoordinates::kHalfPixel: return half_pixel;
    case ResizeCoordinates::kPytorchHalfPixel: return length > 1 ? half_pixel : 0;
    case ResizeCoordinates::kAsymmetric: return params.scale[axis] != 0 ? x / scale : x * in / out;
    case ResizeCoordinates::kAlignCorners: return length == 1 ? 0 : x * (in - 1) / (length - 1);
    case ResizeCoordinates::kHalfPixelSymmetric: return in / 2 * (1 - out / length) + half_pixel;
    case ResizeCoordinates::kTfCropAndResize: {
      const double begin = params.roi_start[axis], end = params.roi_end[axis];
      if (length == 1) return (begin + end) * (in - 1) / 2;
      return begin * (in - 1) + x * (end - begin) * (in - 1) / (length - 1);
    }
    case ResizeCoordinates::kTfHalfPixelForNearest:
      return params.scale[axis] != 0 ? (x + 0.5) / scale : (x + 0.5) * in / out;
  }
  return 0;
}

double cubic(double x, double a) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// How far the taps are squeezed together: antialiasing widens the filter when it shrinks the image.
double squeeze(const ResizeParams& params, double scale) { return params.antialias != 0 && scale < 1 ? scale : 1; }

// The weight of tap `tap`, before they are made to sum to 1.
double weight(const ResizeParams& params, const Taps& taps, int64_t tap, double scale, int64_t in) {
  if (params.mode == ResizeMode::kNearest) return 1;
  const int64_t position = taps.first + tap;
  if (params.exclude_outside != 0 && (position < 0 || position >= in)) return 0;
  const double distance = (static_cast<double>(tap - taps.count / 2 + 1) - taps.ratio) * squeeze(params, scale);
  if (params.mode == ResizeMode::kCubic) return cubic(distance, params.cubic_a);
  return fabs(distance) < 1 ? 1 - fabs(distance) : 0;
}

int64_t nearest(const ResizeParams& params, double x) {
  switch (params.rounding) {
    case ResizeRounding::kRoundPreferFloor: return static_cast<int64_t>(ceil(x - 0.5));
    case ResizeRounding::kRoundPreferCeil: return static_cast<int64_t>(floor(x + 0.5));
    case ResizeRounding::kFloor: return static_cast<int64_t>(floor(x));
    case ResizeRounding::kCeil: return static_cast<int64_t>(ceil(x));
  }
  return 0;
}

Taps taps_at(const ResizeParams& params, int axis, int64_t index, int64_t in, int64_t out) {
  Taps taps;
  double x = coordinate(params, axis, index, in, out);
  taps.extrapolated =
      params.coordinates == ResizeCoordinates::kTfCropAndResize && !(x >= 0 && x <= static_cast<double>(in - 1));
  x = fmin(fmax(x, -0x1p40), 0x1p40);  // keeps integers in range whatever the attributes are; NaN too
  if (params.mode == ResizeMode::kNearest) {
    taps.first = nearest(params, x);
    return taps;
  }
  const double scale = scale_of(params, axis, in, out);
  // The pixel to the left of the coordinate, itself excluded.
  const double left = ceil(x) - 1;
  taps.ratio = x - left;
  if (taps.ratio == 1 && squeeze(params, scale) == 1) {  // an element itself: the other weights are 0
    taps.first = static_cast<int64_t>(x);
    return taps;
  }
  const double reach = params.mode == ResizeMode::kCubic ? 2 : 1;
  taps.count = 2 * static_cast<int64_t>(ceil(reach / squeeze(params, scale)));
  taps.first = static_cast<int64_t>(left) - taps.count / 2 + 1;
  taps.sum = 0;
  for (int64_t tap = 0; tap < taps.count; ++tap) taps.sum += weight(params, taps, tap, scale, in);
  return taps;
}

int64_t clamp(int64_t index, int64_t dim) { return index < 0 ? 0 : index >= dim ? dim - 1 : index; }

void resize_at(const KernelArgs& args, const Position& at) {
  const auto& params = args.params_as<ResizeParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  Taps taps[kMaxRank];
  Box box;
  box.rank = x.rank;
  bool extrapolated = false;
  for (int axis = 0; axis < x.rank; ++axis) {
    taps[axis] = taps_at(params, axis, at.at[axis], x.dims[axis], y.dims[axis]);
    box.dims[axis] = taps[axis].count;
    extrapolated |= taps[axis].extrapolated;
  }
  if (extrapolated) return store(y, at.offset(y), static_cast<double>(params.extrapolation));
  double sum = 0;
  for_each_position_in_order(box, [&](const Position& tap) {
    int64_t offset = 0;
    double product = 1;
    for (int axis = 0; axis < x.rank; ++axis) {
      const double scale = scale_of(params, axis, x.dims[axis], y.dims[axis]);
      product *= weight(params, taps[axis], tap.at[axis], scale, x.dims[axis]) / taps[axis].sum;
      offset += clamp(taps[axis].first + tap.at[axis], x.dims[axis]) * x.strides[axis];
    }
    // A copy, so that 64-bit integers keep all their bits.
    if (params.mode == ResizeMode::kNearest)
      return copy_element(size_of(x.dtype), x.data, offset, y.data, at.offset(y));
    if (product != 0) sum += product * load<double>(x, offset);
  });
  if (params.mode != ResizeMode::kNearest) store(y, at.offset(y), sum);
}

}  // namespace

Status validate_resize(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ResizeParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_RETURN_IF_ERROR(require_same_type(args));
  PW_REQUIRE(y.rank == x.rank, "Resize: ranks %d and %d differ", x.rank, y.rank);
  PW_REQUIRE(params.mode >= ResizeMode::kNearest && params.mode <= ResizeMode::kCubic, "Resize: unknown mode %d",
             static_cast<int>(params.mode));
  PW_REQUIRE(params.coordinates >= ResizeCoordinates::kHalfPixel &&
                 params.coordinates <= ResizeCoordinates::kTfHalfPixelForNearest,
             "Resize: unknown coordinate transformation %d", static_cast<int>(params.coordinates));
  PW_REQUIRE(params.rounding >= ResizeRounding::kRoundPreferFloor && params.rounding <= ResizeRounding::kCeil,
             "Resize: unknown rounding %d", static_cast<int>(params.rounding));
  for (int axis = 0; axis < x.rank; ++axis) {
    PW_REQUIRE(x.dims[axis] > 0 || y.dims[axis] == 0, "Resize: axis %d grows from nothing", axis);
    if (x.dims[axis] == 0 || y.dims[axis] == 0) continue;
    const double scale = scale_of(params, axis, x.dims[axis], y.dims[axis]);
    PW_REQUIRE(scale > 0 && scale <= 0x1p40, "Resize: scale %g at axis %d is out of range", scale, axis);
    // An antialiased output element sums 2/scale inputs, which by the definition is about all of them at most.
    PW_REQUIRE(params.antialias == 0 || scale * static_cast<double>(x.dims[axis]) >= 0.25,
               "Resize: scale %g leaves nothing of the %ld elements at axis %d", scale, x.dims[axis], axis);
  }
  return kOkStatus;
}

Status run_resize(const KernelArgs& args) {
  for_each_position(args, Box(args.outputs[0]), [&](const Position& at, int) { resize_at(args, at); });
  return kOkStatus;
}

}  // namespace planwright::reference
