// Sums of the lanes of four vectors at once.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_LANE_SUMS_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_LANE_SUMS_H_

#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {

using Quad = hn::FixedTag<float, 4>;

// The vector's blocks of four lanes, added up.
template <class Tag>
static HWY_INLINE HWY_MAYBE_UNUSED hn::Vec<Quad> add_blocks(hn::Vec<Tag> v) {
  if constexpr (hn::MaxLanes(Tag()) == 4) {
    return v;
  } else {
    const hn::Half<Tag> half;
    return add_blocks<hn::Half<Tag>>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of four vectors' lanes.
static HWY_INLINE HWY_MAYBE_UNUSED hn::Vec<Quad> add_lanes(FloatVec a, FloatVec b, FloatVec c, FloatVec d) {
  const hn::RepartitionToWide<FloatTag> wide;
  const FloatVec ab = hn::Add(hn::InterleaveLower(kF, a, b), hn::InterleaveUpper(kF, a, b));
  const FloatVec cd = hn::Add(hn::InterleaveLower(kF, c, d), hn::InterleaveUpper(kF, c, d));
  const auto ab_pairs = hn::BitCast(wide, ab), cd_pairs = hn::BitCast(wide, cd);
  const FloatVec low = hn::BitCast(kF, hn::InterleaveLower(wide, ab_pairs, cd_pairs));
  const FloatVec high = hn::BitCast(kF, hn::InterleaveUpper(wide, ab_pairs, cd_pairs));
  return add_blocks<FloatTag>(hn::Add(low, high));
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_LANE_SUMS_H_
