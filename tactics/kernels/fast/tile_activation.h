// The functions that epilogues of contractions end in so often that tiles have them as straight code.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_ACTIVATION_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_ACTIVATION_H_

#include <cstdint>

namespace planwright {

// What is computed from x = sums + bias + residual. clamp(y) is min(max(y, low), high), and NaN where y is.
enum class TileFunction : uint8_t {
  // What micro kernels do themselves, in registers:
  kIdentity = 0,
  kClamp,      // clamp(x)
  kLine,       // clamp(alpha * x + beta)
  kHardSwish,  // x * clamp(alpha * x + beta) + gamma
  // What is computed of tiles put aside:
  kSigmoid,  // 1 / (1 + exp(-(alpha * x + beta)))
  kSilu,     // x / (1 + exp(-alpha * x))
  kGelu,     // beta * x * (1 + erf(alpha * x))
};
inline constexpr int kTileFunctionCount = 7;

inline bool runs_in_registers(TileFunction function) { return function <= TileFunction::kHardSwish; }

struct TileActivation {
  TileFunction function = TileFunction::kIdentity;
  float alpha = 1.0f, beta = 0.0f, gamma = 0.0f;
  float low = -__builtin_inff(), high = __builtin_inff();
};

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_TILE_ACTIVATION_H_
