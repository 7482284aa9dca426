// Gathers that do not wait for one another. An AVX-512 gather of all lanes still waits for the register it overwrites,
// and GCC 12 picks any: walks of trees took up to 1.6 times as long. These overwrite zeros, and GCC must not see that
// the mask makes that no matter.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_GATHER_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_GATHER_H_

#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {

using WordTag = hn::RebindToUnsigned<FloatTag>;
using WordVec = hn::Vec<WordTag>;
using PairTag = hn::Repartition<uint64_t, WordTag>;
using PairVec = hn::Vec<PairTag>;

#if HWY_TARGET <= HWY_AVX3
static HWY_INLINE HWY_MAYBE_UNUSED uint16_t all_lanes() {
  __mmask16 mask = 0xFFFF;
  __asm__("" : "+Yk"(mask));
  return mask;
}
#endif

// base[at] of every lane.
static HWY_INLINE HWY_MAYBE_UNUSED FloatVec gather(const float* base, WordVec at) {
#if HWY_TARGET <= HWY_AVX3
  return FloatVec{_mm512_mask_i32gather_ps(_mm512_setzero_ps(), all_lanes(), at.raw, base, 4)};
#else
  return hn::GatherIndex(kF, base, hn::BitCast(hn::RebindToSigned<FloatTag>(), at));
#endif
}
static HWY_INLINE HWY_MAYBE_UNUSED WordVec gather(const uint32_t* base, WordVec at) {
  return hn::BitCast(WordTag(), gather(reinterpret_cast<const float*>(base), at));
}
static HWY_INLINE HWY_MAYBE_UNUSED PairVec gather(const uint64_t* base, PairVec at) {
#if HWY_TARGET <= HWY_AVX3
  return PairVec{
      _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), static_cast<__mmask8>(all_lanes()), at.raw, base, 8)};
#else
  return hn::GatherIndex(PairTag(), base, hn::BitCast(hn::RebindToSigned<PairTag>(), at));
#endif
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_VECTOR_GATHER_H_
