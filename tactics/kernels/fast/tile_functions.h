// What tiles' epilogues compute (TileFunction), as functions of a vector made ready for one tile.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_FUNCTIONS_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_FUNCTIONS_H_

#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/fast/vector_math.h"

namespace planwright::PW_TIER_NAMESPACE {

// NaN stays NaN: Min and Max give their second operand then.
static HWY_INLINE HWY_MAYBE_UNUSED FloatVec clamp(FloatVec x, FloatVec low, FloatVec high) {
  return hn::Min(high, hn::Max(low, x));
}

static HWY_INLINE HWY_MAYBE_UNUSED auto clamp_function(const TileFinish& tile) {
  const FloatVec alpha = hn::Set(kF, tile.alpha), beta = hn::Set(kF, tile.beta);
  const FloatVec low = hn::Set(kF, tile.low), high = hn::Set(kF, tile.high);
  return [=](FloatVec x) { return clamp(hn::MulAdd(x, alpha, beta), low, high); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto hard_swish_function(const TileFinish& tile) {
  const FloatVec alpha = hn::Set(kF, tile.alpha), beta = hn::Set(kF, tile.beta);
  const FloatVec low = hn::Set(kF, tile.low), high = hn::Set(kF, tile.high);
  return [=](FloatVec x) { return hn::Mul(x, clamp(hn::MulAdd(x, alpha, beta), low, high)); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto sigmoid_function(const TileFinish& tile) {
  const FloatVec alpha = hn::Set(kF, tile.alpha), beta = hn::Set(kF, tile.beta);
  return [=](FloatVec x) { return vector_sigmoid(hn::MulAdd(x, alpha, beta)); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto silu_function(const TileFinish& tile) {
  const FloatVec alpha = hn::Set(kF, tile.alpha);
  return [=](FloatVec x) { return hn::Mul(x, vector_sigmoid(hn::Mul(x, alpha))); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto gelu_function(const TileFinish& tile) {
  const FloatVec alpha = hn::Set(kF, tile.alpha), beta = hn::Set(kF, tile.beta);
  return
      [=](FloatVec x) { return hn::Mul(hn::Mul(beta, x), hn::Add(hn::Set(kF, 1.0f), vector_erf(hn::Mul(x, alpha)))); };
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_FUNCTIONS_H_
