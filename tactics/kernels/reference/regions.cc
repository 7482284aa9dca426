// Operators that read an image between its pixels: RoiAlign and DeformConv.
#include <math.h>

#include "schemas/types/checked.h"
#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/indices.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

// One channel of an image.
struct Plane {
  const TensorView& x;
  int64_t offset;

  int64_t height() const { return x.dims[2]; }
  int64_t width() const { return x.dims[3]; }
  double at(int64_t row, int64_t column) const {
    return load<double>(x, offset + row * x.strides[2] + column * x.strides[3]);
  }
};

// ---- RoiAlign

// The two pixels of an axis around `at`, and the second's weight; a point up to a pixel outside counts as the border's.
struct Between {
  int64_t low, high;
  double weight;
};
Between between(double at, int64_t length) {
  if (at <= 0) at = 0;
  const auto low = static_cast<int64_t>(at);
  if (low >= length - 1) return {length - 1, length - 1, 0};
  return {low, low + 1, at - static_cast<double>(low)};
}

// How one axis of a region is sampled: in cell c, sample i lies at start + c * cell + (i + 0.5) * cell / count.
struct Sampling {
  double start, cell, count;
  int64_t length;

  double at(double c, double i) const { return start + c * cell + (i + 0.5) * cell / count; }
  bool is_inside(double at) const { return at >= -1 && at <= static_cast<double>(length); }

  // The samples of a cell that may lie inside: a region may be larger than any image, and must not take longer.
  struct Range {
    int64_t begin, end;
  };
  Range samples(double c) const {
    if (!(count >= 1) || !isfinite(start) || !isfinite(cell)) return {0, 0};
    const double step = cell / count, first = at(c, 0);
    double low = 0, high = count - 1;
    if (step > 0) {
      low = fmax(low, floor((-1 - first) / step));
      high = fmin(high, ceil((static_cast<double>(length) - first) / step));
    }
    // A region without extent has all its samples in one place, as many as its sampling ratio says.
    if (!(low <= high) || high >= 0x1p53) return {0, 0};
    return {static_cast<int64_t>(low), static_cast<int64_t>(high) + 1};
  }
};

Sampling sampling_of(const RoiAlignParams& params, double begin, double end, int64_t cells, int64_t length) {
  const double scale = params.spatial_scale, shift = params.half_pixel != 0 ? 0.5 : 0;
  const double start = begin * scale - shift;
  double extent = end * scale - shift - start;
  if (params.half_pixel == 0 && !(extent >= 1)) extent = 1;
  const double cell = extent / static_cast<double>(cells);
  return {start, cell, params.sampling_ratio > 0 ? params.sampling_ratio : ceil(cell), length};
}

double align(const RoiAlignParams& params, const Plane& plane, const Sampling& rows, const Sampling& columns,
             int64_t row, int64_t column) {
  const bool takes_most = params.mode == RoiAlignMode::kMax;
  const Sampling::Range down = rows.samples(static_cast<double>(row));
  const Sampling::Range across = columns.samples(static_cast<double>(column));
  const double all = rows.count >= 1 && columns.count >= 1 ? rows.count * columns.count : 1;
  double sum = 0, most = -INFINITY, inside = 0;
  for (int64_t i = down.begin; i < down.end; ++i) {
    const double y = rows.at(static_cast<double>(row), static_cast<double>(i));
    if (!rows.is_inside(y)) continue;
    const Between v = between(y, plane.height());
    for (int64_t j = across.begin; j < across.end; ++j) {
      const double x = columns.at(static_cast<double>(column), static_cast<double>(j));
      if (!columns.is_inside(x)) continue;
      const Between h = between(x, plane.width());
      const double parts[4] = {
          (1 - v.weight) * (1 - h.weight) * plane.at(v.low, h.low), (1 - v.weight) * h.weight * plane.at(v.low, h.high),
          v.weight * (1 - h.weight) * plane.at(v.high, h.low), v.weight * h.weight * plane.at(v.high, h.high)};
      for (const double part : parts) {
        sum += part;
        most = part > most ? part : most;
      }
      ++inside;
    }
  }
  if (!takes_most) return sum / all;
  return inside < all ? fmax(most, 0) : most;  // what lies outside is 0
}

}  // namespace

Status validate_roi_align(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<RoiAlignParams>();
  const TensorView &x = args.inputs[0], &rois = args.inputs[1], &batches = args.inputs[2];
  PW_REQUIRE(params.mode == RoiAlignMode::kAverage || params.mode == RoiAlignMode::kMax, "RoiAlign: unknown mode %d",
             static_cast<int>(params.mode));
  PW_REQUIRE(params.sampling_ratio >= 0 && params.sampling_ratio <= kMaxSamplingRatio,
             "RoiAlign: a sampling ratio of %d", params.sampling_ratio);
  PW_REQUIRE(params.height >= 1 && params.width >= 1, "RoiAlign: regions of %d x %d cells", params.height,
             params.width);
  PW_REQUIRE(x.rank == 4 && x.dims[2] >= 1 && x.dims[3] >= 1, "RoiAlign: an image of rank %d, or an empty one", x.rank);
  PW_REQUIRE(rois.rank == 2 && rois.dims[1] == 4 && is_float(rois.dtype), "RoiAlign: the regions are not rows of 4");
  PW_REQUIRE(batches.rank == 1 && batches.dims[0] == rois.dims[0], "RoiAlign: not one batch index for each region");
  PW_RETURN_IF_ERROR(require_indices(args, 2));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const int64_t dims[4] = {rois.dims[0], x.dims[1], params.height, params.width};
  return require_dims(args, 0, dims, 4);
}

Status run_roi_align(const KernelArgs& args) {
  const auto& params = args.params_as<RoiAlignParams>();
  const TensorView &x = args.inputs[0], &rois = args.inputs[1], &batches = args.inputs[2], &y = args.outputs[0];
  PW_RETURN_IF_ERROR(check_indices(args.op, batches, x.dims[0]));
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const auto corner = [&](int64_t i) { return load<double>(rois, at.at[0] * rois.strides[0] + i * rois.strides[1]); };
    const int64_t batch = wrapped(load<int64_t>(batches, at.at[0] * batches.strides[0]), x.dims[0]);
    const Plane plane{x, batch * x.strides[0] + at.at[1] * x.strides[1]};
    const Sampling rows = sampling_of(params, corner(1), corner(3), params.height, x.dims[2]);
    const Sampling columns = sampling_of(params, corner(0), corner(2), params.width, x.dims[3]);
    store(y, at.offset(y), align(params, plane, rows, columns, at.at[2], at.at[3]));
  });
  return kOkStatus;
}

// ---- DeformConv

namespace {

// Between four pixels, of which those outside are 0.
double sample(const Plane& plane, double row, double column) {
  const auto height = static_cast<double>(plane.height()), width = static_cast<double>(plane.width());
  if (!(row > -1 && row < height && column > -1 && column < width)) return 0;
  const double top = floor(row), left = floor(column), down = row - top, across = column - left;
  const auto pixel = [&](double r, double c) {
    if (r < 0 || r >= height || c < 0 || c >= width) return 0.0;
    return plane.at(static_cast<int64_t>(r), static_cast<int64_t>(c));
  };
  return (1 - down) * ((1 - across) * pixel(top, left) + across * pixel(top, left + 1)) +
         down * ((1 - across) * pixel(top + 1, left) + across * pixel(top + 1, left + 1));
}

}  // namespace

Status validate_deform_conv(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<DeformConvParams>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &offset = args.inputs[2], &y = args.outputs[0];
  PW_REQUIRE(x.rank == 4 && w.rank == 4 && offset.rank == 4 && y.rank == 4, "DeformConv: a tensor is not of rank 4");
  PW_REQUIRE(is_float(x.dtype) && is_float(w.dtype) && is_float(offset.dtype) && is_float(y.dtype),
             "DeformConv: a tensor is not of floats");
  PW_REQUIRE(params.group >= 1 && params.offset_group >= 1, "DeformConv: %d groups, %d of offsets", params.group,
             params.offset_group);
  for (int i = 0; i < 2; ++i) {
    PW_REQUIRE(params.stride[i] >= 1 && params.dilation[i] >= 1, "DeformConv: stride %d, dilation %d", params.stride[i],
               params.dilation[i]);
  }
  PW_REQUIRE(x.dims[1] % params.group == 0 && x.dims[1] / params.group == w.dims[1] && w.dims[0] % params.group == 0,
             "DeformConv: %ld channels and weights of %ld in %d groups", x.dims[1], w.dims[1], params.group);
  PW_REQUIRE(x.dims[1] % params.offset_group == 0, "DeformConv: %d groups of offsets for %ld channels",
             params.offset_group, x.dims[1]);
  int64_t points = 0, numbers = 0;
  PW_REQUIRE(checked_mul(w.dims[2], w.dims[3], &points) && checked_mul(points, int64_t{params.offset_group}, &points) &&
                 checked_mul(points, int64_t{2}, &numbers),
             "DeformConv: a kernel of %ld x %ld", w.dims[2], w.dims[3]);
  const int64_t offsets[4] = {x.dims[0], numbers, y.dims[2], y.dims[3]};
  for (int i = 0; i < 4; ++i) PW_REQUIRE(offset.dims[i] == offsets[i], "DeformConv: the offsets' axis %d", i);
  if (args.core_inputs > 3 && !args.inputs[3].absent) {
    const TensorView& mask = args.inputs[3];
    const int64_t masks[4] = {x.dims[0], points, y.dims[2], y.dims[3]};
    PW_REQUIRE(mask.rank == 4 && is_float(mask.dtype), "DeformConv: a mask of rank %d", mask.rank);
    for (int i = 0; i < 4; ++i) PW_REQUIRE(mask.dims[i] == masks[i], "DeformConv: the mask's axis %d", i);
  }
  const int64_t dims[4] = {x.dims[0], w.dims[0], y.dims[2], y.dims[3]};
  return require_dims(args, 0, dims, 4);
}

Status run_deform_conv(const KernelArgs& args) {
  const auto& params = args.params_as<DeformConvParams>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &offset = args.inputs[2], &y = args.outputs[0];
  const bool masked = args.core_inputs > 3 && !args.inputs[3].absent;
  const int64_t channels = w.dims[1], kernel[2] = {w.dims[2], w.dims[3]};
  const int64_t filters = w.dims[0] / params.group, by_offset = x.dims[1] / params.offset_group;
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const auto here = [&](const TensorView& view, int64_t channel) {
      return load<double>(view, at.at[0] * view.strides[0] + channel * view.strides[1] + at.at[2] * view.strides[2] +
                                    at.at[3] * view.strides[3]);
    };
    double corner[2];  // of the window, in pixels of X
    for (int i = 0; i < 2; ++i) {
      corner[i] = static_cast<double>(at.at[i + 2]) * params.stride[i] - static_cast<double>(args.scalars[i]);
    }
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t channel = at.at[1] / filters * channels + c;
      const Plane plane{x, at.at[0] * x.strides[0] + channel * x.strides[1]};
      const int64_t first = channel / by_offset * kernel[0] * kernel[1];
      for (int64_t i = 0; i < kernel[0]; ++i) {
        for (int64_t j = 0; j < kernel[1]; ++j) {
          const int64_t point = first + i * kernel[1] + j;
          const double row = corner[0] + static_cast<double>(i) * params.dilation[0] + here(offset, 2 * point);
          const double column = corner[1] + static_cast<double>(j) * params.dilation[1] + here(offset, 2 * point + 1);
          double value = sample(plane, row, column);
          if (masked) value *= here(args.inputs[3], point);
          sum +=
              value * load<double>(w, at.at[1] * w.strides[0] + c * w.strides[1] + i * w.strides[2] + j * w.strides[3]);
        }
      }
    }
    store(y, at.offset(y), sum);
  });
  return kOkStatus;
}

}  // namespace planwright::reference
