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

static HWY_INLINE HWY_MAYBE_UNUSED auto clamp_function(const TileActivation& f) {
  const FloatVec low = hn::Set(kF, f.low), high = hn::Set(kF, f.high);
  return [=](FloatVec x) { return clamp(x, low, high); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto line_function(const TileActivation& f) {
  const FloatVec alpha = hn::Set(kF, f.alpha), beta = hn::Set(kF, f.beta);
  const FloatVec low = hn::Set(kF, f.low), high = hn::Set(kF, f.high);
  return [=](FloatVec x) { return clamp(hn::MulAdd(x, alpha, beta), low, high); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto hard_swish_function(const TileActivation& f) {
  const FloatVec alpha = hn::Set(kF, f.alpha), beta = hn::Set(kF, f.beta), gamma = hn::Set(kF, f.gamma);
  const FloatVec low = hn::Set(kF, f.low), high = hn::Set(kF, f.high);
  return [=](FloatVec x) { return hn::MulAdd(x, clamp(hn::MulAdd(x, alpha, beta), low, high), gamma); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto sigmoid_function(const TileActivation& f) {
  const FloatVec alpha = hn::Set(kF, f.alpha), beta = hn::Set(kF, f.beta);
  return [=](FloatVec x) { return vector_sigmoid(hn::MulAdd(x, alpha, beta)); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto silu_function(const TileActivation& f) {
  const FloatVec alpha = hn::Set(kF, f.alpha);
  return [=](FloatVec x) { return hn::Mul(x, vector_sigmoid(hn::Mul(x, alpha))); };
}

static HWY_INLINE HWY_MAYBE_UNUSED auto gelu_function(const TileActivation& f) {
  const FloatVec alpha = hn::Set(kF, f.alpha), beta = hn::Set(kF, f.beta);
  return
      [=](FloatVec x) { return hn::Mul(hn::Mul(beta, x), hn::Add(hn::Set(kF, 1.0f), vector_erf(hn::Mul(x, alpha)))); };
}

// Has `run` apply the activation, one that runs in registers: run(function of a vector).
template <typename Run>
HWY_INLINE void apply_in_registers(const TileActivation& activation, const Run& run) {
  switch (activation.function) {
    case TileFunction::kClamp: return run(clamp_function(activation));
    case TileFunction::kLine: return run(line_function(activation));
    case TileFunction::kHardSwish: return run(hard_swish_function(activation));
    default: return;
  }
}

}  // namespace planwright::PW_TIER_NAMESPACE

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_FUNCTIONS_H_
