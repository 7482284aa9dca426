// Max and average pooling, fp32 (the maximum in bf16 too), channels-last, one or two spatial axes. A vector holds
// channels; each output pixel folds the input pixels of its window, found once for all its channels.
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int kMaxTaps = 256;
constexpr int64_t kTaskElements = 1 << 14;

struct Shape {
  int64_t batch, channels, in_h, in_w, out_h, out_w;
  int64_t x_n, x_h, x_w, y_n, y_h, y_w;
  int64_t pad_h, pad_w, pad_h_end, pad_w_end;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
};

Shape shape_of(const KernelArgs& args) {
  const auto& params = args.params_as<PoolParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const bool flat = params.spatial == 1;
  const int h = flat ? -1 : 0, w = flat ? 0 : 1;  // spatial axes; -1: there is none
  Shape s;
  s.batch = x.dims[0];
  s.channels = x.dims[1];
  s.in_h = flat ? 1 : x.dims[2 + h];
  s.in_w = x.dims[2 + w];
  s.out_h = flat ? 1 : y.dims[2 + h];
  s.out_w = y.dims[2 + w];
  s.x_n = x.strides[0];
  s.x_h = flat ? 0 : x.strides[2 + h];
  s.x_w = x.strides[2 + w];
  s.y_n = y.strides[0];
  s.y_h = flat ? 0 : y.strides[2 + h];
  s.y_w = y.strides[2 + w];
  s.pad_h = flat ? 0 : args.scalars[h];
  s.pad_w = args.scalars[w];
  s.pad_h_end = flat ? 0 : args.scalars[params.spatial + h];
  s.pad_w_end = args.scalars[params.spatial + w];
  s.kernel_h = flat ? 1 : params.kernel[h];
  s.kernel_w = params.kernel[w];
  s.stride_h = flat ? 1 : params.stride[h];
  s.stride_w = params.stride[w];
  s.dilation_h = flat ? 1 : params.dilation[h];
  s.dilation_w = params.dilation[w];
  return s;
}

Status validate_strided(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kPool).validate(args));
  const auto& params = args.params_as<PoolParams>();
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (params.kind == PoolKind::kLp) return error(StatusCode::kUnsupported, "neither max nor average");
  if (params.spatial > 2) return error(StatusCode::kUnsupported, "%d spatial axes", params.spatial);
  if (args.output_count > 1 && !args.outputs[1].absent) return error(StatusCode::kUnsupported, "indices are wanted");
  if (x.dims[1] > 1 && (x.strides[1] != 1 || y.strides[1] != 1)) {
    return error(StatusCode::kUnsupported, "channels are not innermost");
  }
  const int64_t taps = int64_t{params.kernel[0]} * (params.spatial > 1 ? params.kernel[1] : 1);
  if (params.kernel[0] > kMaxTaps || taps > kMaxTaps) {
    return error(StatusCode::kUnsupported, "%ld taps", static_cast<long>(taps));
  }
  return kOkStatus;
}

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_strided(args));
  if (args.inputs[0].dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  return kOkStatus;
}

// A maximum needs no rounding, and floats hold all of these types.
template <DType kType>
Status validate_max(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_strided(args));
  if (args.inputs[0].dtype != kType) return error(StatusCode::kUnsupported, "not %s", name_of(kType));
  if (args.params_as<PoolParams>().kind != PoolKind::kMax) return error(StatusCode::kUnsupported, "not the maximum");
  return kOkStatus;
}

// Of one axis at one output position: taps in [first, end) lie inside the input, `padded` of them inside it with
// padding.
struct Span {
  int64_t start;  // input position of tap 0
  int first, end, padded;
};

Span span_of(int64_t out, int64_t in, int kernel, int stride, int dilation, int64_t pad, int64_t pad_end) {
  Span span{out * stride - pad, kernel, 0, 0};
  for (int k = 0; k < kernel; ++k) {
    const int64_t at = span.start + int64_t{k} * dilation;
    if (at >= -pad && at < in + pad_end) ++span.padded;
    if (at < 0 || at >= in) continue;
    if (span.first == kernel) span.first = k;
    span.end = k + 1;
  }
  return span;
}

// `count` elements as floats, the other lanes 0; and back, of what their type holds. `count` in [1, kLanes].
HWY_INLINE FloatVec load(const float* from, int count) {
  return count == kLanes ? hn::LoadU(kF, from) : load_n(from, count);
}
HWY_INLINE void store(FloatVec value, float* to, int count) {
  if (count == kLanes) return hn::StoreU(value, kF, to);
  store_n(value, to, count);
}

constexpr hn::RebindToUnsigned<FloatTag> kBits{};
constexpr hn::Rebind<uint16_t, FloatTag> kHalves{};

HWY_INLINE FloatVec load(const uint16_t* from, int count) {
  uint16_t some[kLanes] = {};
  if (count < kLanes) {
    for (int i = 0; i < count; ++i) some[i] = from[i];
    from = some;
  }
  return hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(kBits, hn::LoadU(kHalves, from))));
}
HWY_INLINE void store(FloatVec value, uint16_t* to, int count) {
  const auto upper = hn::ShiftRight<16>(hn::BitCast(kBits, value));
  const auto halves = hn::DemoteTo(kHalves, hn::BitCast(hn::RebindToSigned<FloatTag>(), upper));
  if (count == kLanes) return hn::StoreU(halves, kHalves, to);
  uint16_t all[kLanes];
  hn::StoreU(halves, kHalves, all);
  for (int i = 0; i < count; ++i) to[i] = all[i];
}

template <typename T>
HWY_INLINE FloatVec load_bytes(const T* from, int count) {
  T some[kLanes] = {};
  if (count < kLanes) {
    for (int i = 0; i < count; ++i) some[i] = from[i];
    from = some;
  }
  const hn::RebindToSigned<FloatTag> ints;
  return hn::ConvertTo(kF, hn::PromoteTo(ints, hn::LoadU(hn::Rebind<T, FloatTag>(), from)));
}
template <typename T>
HWY_INLINE void store_bytes(FloatVec value, T* to, int count) {
  const hn::Rebind<T, FloatTag> tag;
  const auto bytes = hn::DemoteTo(tag, hn::ConvertTo(hn::RebindToSigned<FloatTag>(), value));
  if (count == kLanes) return hn::StoreU(bytes, tag, to);
  T all[kLanes];
  hn::StoreU(bytes, tag, all);
  for (int i = 0; i < count; ++i) to[i] = all[i];
}
HWY_INLINE FloatVec load(const uint8_t* from, int count) { return load_bytes(from, count); }
HWY_INLINE FloatVec load(const int8_t* from, int count) { return load_bytes(from, count); }
HWY_INLINE void store(FloatVec value, uint8_t* to, int count) { store_bytes(value, to, count); }
HWY_INLINE void store(FloatVec value, int8_t* to, int count) { store_bytes(value, to, count); }

// The maximum that keeps a NaN in either: x86's gives the second operand where either is NaN.
HWY_INLINE FloatVec max_nan(FloatVec a, FloatVec b) { return hn::IfThenElse(hn::Eq(a, a), hn::Max(a, b), a); }

// The maximum over taps, or their sum times `scale`, of `kVectors` vectors of channels (of `valid` elements where it is
// one and not whole).
template <bool kMax, int kVectors, typename T>
HWY_INLINE void fold(const T* const* taps, int count, int64_t c, int valid, FloatVec scale, T* y) {
  FloatVec result[kVectors];
  // Of int8, a window that lies wholly in the padding gives 0 (reference/pool.cc).
  const bool is_zero = !kMax || (count == 0 && sizeof(T) == 1);
  for (FloatVec& v : result) v = is_zero ? hn::Zero(kF) : hn::Set(kF, -__builtin_inff());
  for (int t = 0; t < count; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      const FloatVec x = load(taps[t] + c + v * kLanes, kVectors > 1 ? kLanes : valid);
      result[v] = kMax ? max_nan(result[v], x) : hn::Add(result[v], x);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    if (!kMax) result[v] = hn::Mul(result[v], scale);
    store(result[v], y + c + v * kLanes, kVectors > 1 ? kLanes : valid);
  }
}

template <bool kMax, typename T>
void fold_pixel(const T* const* taps, int count, int64_t channels, float scale, T* y) {
  constexpr int kVectors = 4;
  const FloatVec factor = hn::Set(kF, scale);
  int64_t c = 0;
  for (; c + kVectors * kLanes <= channels; c += kVectors * kLanes) {
    fold<kMax, kVectors>(taps, count, c, kLanes, factor, y);
  }
  for (; c < channels; c += kLanes) {
    fold<kMax, 1>(taps, count, c, static_cast<int>(channels - c < kLanes ? channels - c : kLanes), factor, y);
  }
}

template <typename T>
void pool_row(const KernelArgs& args, const Shape& s, int64_t n, int64_t oy) {
  const auto& params = args.params_as<PoolParams>();
  const T* image = args.inputs[0].as<const T>() + n * s.x_n;
  T* row = args.outputs[0].as<T>() + n * s.y_n + oy * s.y_h;
  const Span down = span_of(oy, s.in_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_h, s.pad_h_end);
  for (int64_t ox = 0; ox < s.out_w; ++ox) {
    const Span along = span_of(ox, s.in_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_w, s.pad_w_end);
    const T* taps[kMaxTaps];
    int count = 0;
    for (int ky = down.first; ky < down.end; ++ky) {
      for (int kx = along.first; kx < along.end; ++kx) {
        taps[count++] = image + (down.start + int64_t{ky} * s.dilation_h) * s.x_h +
                        (along.start + int64_t{kx} * s.dilation_w) * s.x_w;
      }
    }
    if (params.kind == PoolKind::kMax) {
      fold_pixel<true>(taps, count, s.channels, 0, row + ox * s.y_w);
    } else {
      const int divisor = params.count_include_pad != 0 ? down.padded * along.padded : count;
      fold_pixel<false>(taps, count, s.channels, divisor == 0 ? 0.0f : 1.0f / static_cast<float>(divisor),
                        row + ox * s.y_w);
    }
  }
}

template <typename T>
Status run(const KernelArgs& args) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  const Shape s = shape_of(args);
  const int64_t rows = s.batch * s.out_h;
  const int64_t cost = s.out_w * s.channels * s.kernel_h * s.kernel_w;
  const int64_t group = kTaskElements / (cost + 1) + 1;
  parallel_for(*args.executor, (rows + group - 1) / group, [&](int64_t task, int) {
    for (int64_t row = task * group; row < (task + 1) * group && row < rows; ++row) {
      pool_row<T>(args, s, row / s.out_h, row % s.out_h);
    }
  });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {
    {
        .name = "pool_f32_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kPool,
        .isa = PW_TIER_ISA,
        .validate = validate,
        .run = run<float>,
    },
    {
        .name = "pool_bf16_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kPool,
        .isa = PW_TIER_ISA,
        .validate = validate_max<DType::kBF16>,
        .run = run<uint16_t>,
    },
    {
        .name = "pool_u8_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kPool,
        .isa = PW_TIER_ISA,
        .validate = validate_max<DType::kU8>,
        .run = run<uint8_t>,
    },
    {
        .name = "pool_s8_" PW_TIER_STRING,
        .revision = 1,
        .op = OpKind::kPool,
        .isa = PW_TIER_ISA,
        .validate = validate_max<DType::kI8>,
        .run = run<int8_t>,
    },
};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(pool_f32)
