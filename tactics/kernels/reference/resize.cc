// Resize, as the ONNX operator defines it: along each axis an output position maps to a real input coordinate, and the
// value there is a weighted sum of the input elements around it.
#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/resize_axis.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

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
      offset += index_of(taps[axis], tap.at[axis], x.dims[axis]) * x.strides[axis];
    }
    // A copy, so that 64-bit integers keep all their bits.
    if (params.mode == ResizeMode::kNearest)
      return copy_element(size_of(x.dtype), x.data, offset, y.data, at.offset(y));
    if (product != 0) sum += product * load<double>(x, offset);
  });
  if (params.mode == ResizeMode::kNearest) return;
  // Integers are cut off, but rounded where many of them are averaged: both as ONNX Runtime has it.
  if (params.antialias != 0 && !is_float(y.dtype)) sum = floor(sum + 0.5);
  store(y, at.offset(y), sum);
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
