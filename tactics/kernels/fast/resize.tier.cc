// Resize of one to three spatial axes, channels-last: nearest of any 4-byte elements and bytes, linear and cubic of
// fp32. A vector holds channels; the taps of a pixel and their weights are found once for all of them.
#include "tactics/kernels/fast/resize_table.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 14;
constexpr int kMostTaps = 64;  // cubic along three axes

bool is_byte(DType type) { return type == DType::kU8 || type == DType::kI8; }

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_resize_table(args));
  const DType type = args.inputs[0].dtype;
  const bool is_copy =
      args.params_as<ResizeParams>().mode == ResizeMode::kNearest && (size_of(type) == 4 || is_byte(type));
  if (type != DType::kF32 && !is_copy)
    return error(StatusCode::kUnsupported, "neither fp32 nor a copy of words or bytes");
  return kOkStatus;
}

// What a pixel is made of. Taps of weight 0 are left out: they may be infinite.
struct PixelTaps {
  int count = 0;
  const float* from[kMostTaps];
  float weights[kMostTaps];
};

// The taps of `outer` with those of one position along `axis`.
HWY_INLINE void join_taps(const PixelTaps& outer, const ResizeAxis& axis, int64_t position, PixelTaps* joined) {
  joined->count = 0;
  for (int i = 0; i < outer.count; ++i) {
    for (int64_t tap = position * axis.taps; tap < (position + 1) * axis.taps; ++tap) {
      const float weight = outer.weights[i] * axis.weights[tap];
      if (weight == 0.0f) continue;
      joined->from[joined->count] = outer.from[i] + axis.offsets[tap];
      joined->weights[joined->count++] = weight;
    }
  }
}

HWY_INLINE void copy_pixel(const float* from, int64_t channels, float* to) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) hn::StoreU(hn::LoadU(kF, from + c), kF, to + c);
  if (c < channels) store_n(load_n(from + c, static_cast<int>(channels - c)), to + c, static_cast<int>(channels - c));
}

void blend_pixel(const PixelTaps& taps, int64_t channels, float* to) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    FloatVec sum = hn::Zero(kF);
    for (int i = 0; i < taps.count; ++i) {
      sum = hn::MulAdd(hn::LoadU(kF, taps.from[i] + c), hn::Set(kF, taps.weights[i]), sum);
    }
    hn::StoreU(sum, kF, to + c);
  }
  if (c == channels) return;
  const int left = static_cast<int>(channels - c);
  FloatVec sum = hn::Zero(kF);
  for (int i = 0; i < taps.count; ++i) {
    sum = hn::MulAdd(load_n(taps.from[i] + c, left), hn::Set(kF, taps.weights[i]), sum);
  }
  store_n(sum, to + c, left);
}

// One output row: all positions along the last axis.
void resize_row(const PixelTaps& row_taps, const ResizeAxis& axis, bool is_copy, int64_t channels, float* to) {
  PixelTaps taps;
  for (int64_t position = 0; position < axis.length; ++position, to += axis.stride) {
    if (is_copy) {
      copy_pixel(row_taps.from[0] + axis.offsets[position], channels, to);
    } else {
      join_taps(row_taps, axis, position, &taps);
      blend_pixel(taps, channels, to);
    }
  }
}

// Of bytes, all positions along the last axis are copies.
void copy_row(const uint8_t* from, const ResizeAxis& axis, int64_t channels, uint8_t* to) {
  for (int64_t position = 0; position < axis.length; ++position, to += axis.stride) {
    __builtin_memcpy(to, from + axis.offsets[position], static_cast<size_t>(channels));
  }
}

Status run(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const ResizeTable table = make_resize_table(args, args.workspace);
  const ResizeAxis &slices = table.axes[0], &rows = table.axes[1], &columns = table.axes[2];
  const bool is_copy = args.params_as<ResizeParams>().mode == ResizeMode::kNearest;
  const int64_t count = y.dims[0] * slices.length * rows.length, channels = y.dims[1];
  const int64_t cost = columns.length * channels * slices.taps * rows.taps * columns.taps;
  const int64_t group = kTaskElements / cost + 1;
  parallel_for(*args.executor, (count + group - 1) / group, [&](int64_t task, int) {
    for (int64_t i = task * group; i < (task + 1) * group && i < count; ++i) {
      const int64_t row = i % rows.length, slice = i / rows.length % slices.length, n = i / rows.length / slices.length;
      const int64_t to = n * y.strides[0] + slice * slices.stride + row * rows.stride;
      if (is_byte(x.dtype)) {
        const int64_t from = n * x.strides[0] + slices.offsets[slice] + rows.offsets[row];
        copy_row(x.as<const uint8_t>() + from, columns, channels, y.as<uint8_t>() + to);
        continue;
      }
      PixelTaps image, slice_taps, row_taps;
      image.count = 1;
      image.from[0] = x.as<const float>() + n * x.strides[0];
      image.weights[0] = 1.0f;
      join_taps(image, slices, slice, &slice_taps);
      join_taps(slice_taps, rows, row, &row_taps);
      resize_row(row_taps, columns, is_copy, channels, y.as<float>() + to);
    }
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "resize_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kResize,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .workspace_size = resize_table_size,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(resize_f32)
