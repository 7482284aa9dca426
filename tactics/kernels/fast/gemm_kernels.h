// Included by the tier files of the contractions: the tiles each tier offers and what makes descriptors of them.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_KERNELS_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_KERNELS_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/tier.h"

// PW_TILE(rows, vectors), the best guess first: of 24 to 28 accumulators in 32 registers, or 12 in 16. Wide tiles read
// each row of A fewer times, tall ones stream less of B.
#if HWY_TARGET <= HWY_AVX3
#define PW_GEMM_TILES PW_TILE(12, 2) PW_TILE(6, 4) PW_TILE(8, 3) PW_TILE(14, 2)
#else
#define PW_GEMM_TILES PW_TILE(6, 2) PW_TILE(4, 3)
#endif

#define PW_TILE_NAME(family, rows, vectors) family "_" #rows "x" #vectors "_" PW_TIER_STRING
// Of the kernel <8, 0>, which families add that may have few columns.
#define PW_DOT_NAME(family) family "_dot_" PW_TIER_STRING

namespace planwright::PW_TIER_NAMESPACE {
namespace {

template <int kRows, int kVectors>
constexpr fast::GemmShape kGemmShape = {&gemm_tier, kRows, kVectors};
// No vectors of columns: a column at a time, of at most four (dot_tile.tier.cc).
template <int kRows>
constexpr fast::GemmShape kGemmShape<kRows, 0> = {&dot_tier, kRows, 1};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_KERNELS_H_
