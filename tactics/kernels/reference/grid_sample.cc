#include <math.h>

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// `x` mirrored at `low` and `high` until it lies between them.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const double beyond = x < low ? low - x : x - high;
  const double rest = fmod(beyond, 2 * range);
  const double inside = rest < range ? rest : 2 * range - rest;
  return x < low ? low + inside : high - inside;
}

// One axis of the image.
struct Axis {
  int64_t length, stride;
  double low, high;  // where reflection mirrors
};

// Where a normalised coordinate lies, in pixels; mirrored where that is the padding.
double pixel_of(const GridSampleParams& params, const Axis& axis, double normal) {
  const auto length = static_cast<double>(axis.length);
  double x = params.align_corners != 0 ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
  if (!isfinite(x)) x = x > 0 ? length + 3 : -4;  // what is no number lies outside
  if (params.mode == GridSampleMode::kNearest) x = rint(x);
  if (params.padding == GridSamplePadding::kReflection) return reflected(x, axis.low, axis.high);
  // Far outside is as good as just out of any window's reach. The border pads pixels, not places: between the cubic's
  // four it matters.
  return x < -4 ? -4 : x > length + 3 ? length + 3 : x;
}

// The pixel that stands for `index`; -1: none, the value is 0.
int64_t padded(const GridSampleParams& params, const Axis& axis, int64_t index) {
  if (index >= 0 && index < axis.length) return index;
  if (params.padding == GridSamplePadding::kZeros) return -1;
  if (params.padding == GridSamplePadding::kReflection) {
    index = static_cast<int64_t>(reflected(static_cast<double>(index), axis.low, axis.high));
  }
  return index < 0 ? 0 : index >= axis.length ? axis.length - 1 : index;
}

// The taps of one axis: offsets of elements (-1: nothing there) and their weights.
struct Taps {
  int count = 0;
  int64_t offset[4];
  double weight[4];
};

// Keys' kernel with a = -0.75, for the four pixels around a point `r` past the second.
void cubic_weights(double r, double weight[4]) {
  constexpr double a = -0.75;
  const auto near = [](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  const auto far = [](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  weight[0] = far(r + 1);
  weight[1] = near(r);
  weight[2] = near(1 - r);
  weight[3] = far(2 - r);
}

Taps taps_of(const GridSampleParams& params, const Axis& axis, double normal) {
  const double x = pixel_of(params, axis, normal);
  Taps taps;
  int64_t first;
  if (params.mode == GridSampleMode::kNearest) {
    first = static_cast<int64_t>(x);
    taps.count = 1;
    taps.weight[0] = 1;
  } else {
    const double base = floor(x), r = x - base;
    first = static_cast<int64_t>(base);
    if (params.mode == GridSampleMode::kLinear) {
      taps.count = 2;
      taps.weight[0] = 1 - r;
      taps.weight[1] = r;
    } else {
      taps.count = 4;
      --first;
      cubic_weights(r, taps.weight);
    }
  }
  for (int i = 0; i < taps.count; ++i) {
    const int64_t index = padded(params, axis, first + i);
    taps.offset[i] = index < 0 ? -1 : index * axis.stride;
  }
  return taps;
}

// The weighted sum over the taps of axes from `axis` on.
double sum_of(const TensorView& x, int64_t offset, const Taps* taps, int axes) {
  if (axes == 0) return load<double>(x, offset);
  double sum = 0;
  for (int i = 0; i < taps->count; ++i) {
    if (taps->offset[i] < 0) continue;
    sum += taps->weight[i] * sum_of(x, offset + taps->offset[i], taps + 1, axes - 1);
  }
  return sum;
}

}  // namespace

Status validate_grid_sample(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<GridSampleParams>();
  const TensorView &x = args.inputs[0], &grid = args.inputs[1];
  const int spatial = x.rank - 2;
  PW_REQUIRE(params.mode >= GridSampleMode::kNearest && params.mode <= GridSampleMode::kCubic,
             "GridSample: unknown mode %d", static_cast<int>(params.mode));
  PW_REQUIRE(params.padding >= GridSamplePadding::kZeros && params.padding <= GridSamplePadding::kReflection,
             "GridSample: unknown padding %d", static_cast<int>(params.padding));
  PW_REQUIRE(spatial >= 1 && spatial <= kMaxSpatial, "GridSample: an image of rank %d", x.rank);
  PW_REQUIRE(grid.rank == x.rank && grid.dims[grid.rank - 1] == spatial && grid.dims[0] == x.dims[0],
             "GridSample: the grid does not fit an image of rank %d", x.rank);
  PW_REQUIRE(is_float(grid.dtype), "GridSample: the grid is %s, not a float", name_of(grid.dtype));
  PW_RETURN_IF_ERROR(require_same_type(args));
  int64_t dims[kMaxRank] = {x.dims[0], x.dims[1]};
  for (int i = 0; i < spatial; ++i) {
    PW_REQUIRE(x.dims[i + 2] >= 1, "GridSample: an empty image");
    dims[i + 2] = grid.dims[i + 1];
  }
  return require_dims(args, 0, dims, x.rank);
}

Status run_grid_sample(const KernelArgs& args) {
  const auto& params = args.params_as<GridSampleParams>();
  const TensorView &x = args.inputs[0], &grid = args.inputs[1], &y = args.outputs[0];
  const int spatial = x.rank - 2;
  Axis axes[kMaxSpatial];
  for (int i = 0; i < spatial; ++i) {
    const auto length = static_cast<double>(x.dims[i + 2]);
    const bool corners = params.align_corners != 0;
    axes[i] = {x.dims[i + 2], x.strides[i + 2], corners ? 0 : -0.5, corners ? length - 1 : length - 0.5};
  }
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t point = at.at[0] * grid.strides[0];
    for (int i = 0; i < spatial; ++i) point += at.at[i + 2] * grid.strides[i + 1];
    Taps taps[kMaxSpatial];
    for (int i = 0; i < spatial; ++i) {  // a point's first number belongs to the last axis
      const double normal = load<double>(grid, point + (spatial - 1 - i) * grid.strides[spatial + 1]);
      taps[i] = taps_of(params, axes[i], normal);
    }
    const int64_t image = at.at[0] * x.strides[0] + at.at[1] * x.strides[1];
    store(y, at.offset(y), sum_of(x, image, taps, spatial));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
