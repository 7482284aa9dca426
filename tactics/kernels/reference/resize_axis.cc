// The mapping of output positions to real input coordinates that the ONNX operator defines, and its filters.
#include "tactics/kernels/reference/resize_axis.h"

#include <math.h>

namespace planwright::reference {
namespace {

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

int64_t nearest(const ResizeParams& params, double x) {
  switch (params.rounding) {
    case ResizeRounding::kRoundPreferFloor: return static_cast<int64_t>(ceil(x - 0.5));
    case ResizeRounding::kRoundPreferCeil: return static_cast<int64_t>(floor(x + 0.5));
    case ResizeRounding::kFloor: return static_cast<int64_t>(floor(x));
    case ResizeRounding::kCeil: return static_cast<int64_t>(ceil(x));
  }
  return 0;
}

}  // namespace

double scale_of(const ResizeParams& params, int axis, int64_t in, int64_t out) {
  return params.scale[axis] != 0 ? params.scale[axis] : static_cast<double>(out) / static_cast<double>(in);
}

double weight(const ResizeParams& params, const Taps& taps, int64_t tap, double scale, int64_t in) {
  if (params.mode == ResizeMode::kNearest) return 1;
  const int64_t position = taps.first + tap;
  if (params.exclude_outside != 0 && (position < 0 || position >= in)) return 0;
  const double distance = (static_cast<double>(tap - taps.count / 2 + 1) - taps.ratio) * squeeze(params, scale);
  if (params.mode == ResizeMode::kCubic) return cubic(distance, params.cubic_a);
  return fabs(distance) < 1 ? 1 - fabs(distance) : 0;
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

int64_t index_of(const Taps& taps, int64_t tap, int64_t in) {
  const int64_t index = taps.first + tap;
  return index < 0 ? 0 : index >= in ? in - 1 : index;
}

}  // namespace planwright::reference
