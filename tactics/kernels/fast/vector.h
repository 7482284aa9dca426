// What every tier file needs of Highway 1.0.3 and what it lacks: the tier's float vector and partial loads and stores
// that never touch memory past the given elements.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_H_

#include "tactics/kernels/tier.h"

namespace planwright::PW_TIER_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
inline constexpr FloatTag kF{};
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag{}));

// The first `count` elements at `from`, the other lanes 0. `count` in [0, kLanes].
static HWY_INLINE HWY_MAYBE_UNUSED FloatVec load_n(const float* from, int count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(kF, static_cast<size_t>(count)), kF, from);
#else
  // Highway's MaskedLoad reads whole vectors below AVX2.
  alignas(16) float lanes[kLanes] = {};
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(kF, lanes);
#endif
}

// Writes the first `count` lanes only.
static HWY_INLINE HWY_MAYBE_UNUSED void store_n(FloatVec value, float* to, int count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(value, hn::FirstN(kF, static_cast<size_t>(count)), kF, to);
#else
  alignas(16) float lanes[kLanes];
  hn::Store(value, kF, lanes);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_H_
