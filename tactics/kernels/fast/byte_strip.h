// Strips of bytes and int32 made floats and floats made those, for tier files.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_STRIP_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_STRIP_H_

#include "schemas/types/dtype.h"
#include "tactics/kernels/fast/integer_strip.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

// Whole vectors of elements.
template <typename T>
HWY_INLINE FloatVec widened(const T* from) {
  const hn::RebindToSigned<FloatTag> ints;
  const hn::Rebind<T, FloatTag> tag;
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    return hn::ConvertTo(kF, hn::LoadU(ints, from));
  } else {
    return hn::ConvertTo(kF, hn::PromoteTo(ints, hn::LoadU(tag, from)));
  }
}

template <typename T>
HWY_INLINE void widen_from(const void* from, int64_t stride, int64_t count, float* to) {
  const T* elements = static_cast<const T*>(from);
  if (stride == 1) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(widened(elements + i), kF, to + i);
    for (; i < count; ++i) to[i] = static_cast<float>(elements[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i * stride]);
  }
}

// Of int8, uint8 or int32.
HWY_MAYBE_UNUSED void widen_strip(DType type, const void* from, int64_t stride, int64_t count, float* to) {
  switch (type) {
    case DType::kI8: return widen_from<int8_t>(from, stride, count, to);
    case DType::kU8: return widen_from<uint8_t>(from, stride, count, to);
    default: return widen_from<int32_t>(from, stride, count, to);
  }
}

template <typename T, typename Wide>
HWY_INLINE void narrow_scalars(const float* from, int64_t count, T* to, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<T>(saturated<Wide>(from[i]));
}

// The lowest bytes of what floats are cut off to: of vectors whose elements int32 holds, which are nearly all, at once.
template <typename T, typename Wide>
HWY_INLINE void narrow_bytes(const float* from, int64_t count, T* to) {
  [[maybe_unused]] const hn::RebindToSigned<FloatTag> ints;
  const hn::Rebind<uint8_t, FloatTag> bytes;
  const FloatVec end = hn::Set(kF, 0x1p31f);
  int64_t i = 0;
  for (; i < count; i += kLanes) {
    const int valid = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    FloatVec x = valid == kLanes ? hn::LoadU(kF, from + i) : load_n(from + i, valid);
    if (!hn::AllTrue(kF, hn::Lt(hn::Abs(x), end))) {
      narrow_scalars<T, Wide>(from + i, valid, to + i, 1);
      continue;
    }
    if (T(-1) > T(0)) x = hn::Max(x, hn::Zero(kF));
#if HWY_TARGET <= HWY_AVX3
    const hn::Vec<decltype(bytes)> low{_mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x.raw))};
#else
    const auto low = hn::DemoteTo(bytes, hn::And(hn::ConvertTo(ints, x), hn::Set(ints, 0xFF)));
#endif
    if (valid == kLanes) {
      hn::StoreU(low, bytes, reinterpret_cast<uint8_t*>(to + i));
      continue;
    }
    uint8_t lanes[kLanes];
    hn::StoreU(low, bytes, lanes);
    for (int r = 0; r < valid; ++r) to[i + r] = static_cast<T>(lanes[r]);
  }
}

// To int8, uint8 or int32, as a store does (program.h).
HWY_MAYBE_UNUSED void narrow_strip(DType type, const float* from, int64_t count, void* to, int64_t stride) {
  switch (type) {
    case DType::kI8:
      if (stride == 1) return narrow_bytes<int8_t, int64_t>(from, count, static_cast<int8_t*>(to));
      return narrow_scalars<int8_t, int64_t>(from, count, static_cast<int8_t*>(to), stride);
    case DType::kU8:
      if (stride == 1) return narrow_bytes<uint8_t, uint64_t>(from, count, static_cast<uint8_t*>(to));
      return narrow_scalars<uint8_t, uint64_t>(from, count, static_cast<uint8_t*>(to), stride);
    default: return narrow_scalars<int32_t, int64_t>(from, count, static_cast<int32_t*>(to), stride);
  }
}

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_STRIP_H_
