// The products of conv_transpose_single.h: along K, for a pixel's channels lie side by side.
#include "tactics/kernels/fast/conv_transpose_single.h"

#include "tactics/kernels/fast/lane_sums.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

HWY_INLINE hn::Vec<Quad> patch_columns(const float* x, int64_t channels, const float* weights, int64_t depth) {
  FloatVec a = hn::Zero(kF), b = a, c = a, d = a;
  const auto add = [&](FloatVec v, const float* w) {
    a = hn::MulAdd(v, hn::LoadU(kF, w), a);
    b = hn::MulAdd(v, hn::LoadU(kF, w + depth), b);
    c = hn::MulAdd(v, hn::LoadU(kF, w + 2 * depth), c);
    d = hn::MulAdd(v, hn::LoadU(kF, w + 3 * depth), d);
  };
  int64_t k = 0;
  for (; k + kLanes <= channels; k += kLanes) add(hn::LoadU(kF, x + k), weights + k);
  if (k < channels) add(load_n(x + k, static_cast<int>(channels - k)), weights + k);
  return add_lanes(a, b, c, d);
}

void make_patches(const PatchRow& row) {
  const float* weights = row.weights;
  for (int first = 0; first < row.columns; first += kPatchColumns, weights += kPatchColumns * row.depth) {
    const int columns = row.columns - first < kPatchColumns ? row.columns - first : kPatchColumns;
    const float* x = row.x;
    for (int64_t p = 0; p < row.count; ++p, x += row.step) {
      alignas(16) float patch[kPatchColumns];
      hn::Store(patch_columns(x, row.channels, weights, row.depth), Quad(), patch);
      for (int i = 0; i < columns; ++i) row.to[first + i][p * row.to_step] = patch[i];
    }
  }
}

}  // namespace

const PatchTier patch_tier = {&gemm_tier, make_patches};

}  // namespace planwright::PW_TIER_NAMESPACE
