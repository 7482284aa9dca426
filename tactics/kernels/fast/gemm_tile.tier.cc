#include "tactics/kernels/fast/gemm_tile.h"

#include "tactics/kernels/fast/tile_functions.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr bool kMasksTails = HWY_TARGET <= HWY_AVX2;

// The columns of a row's last vector, which are all of them where a tier cannot leave any out.
class Tail {
 public:
#if HWY_TARGET <= HWY_AVX2
  explicit HWY_INLINE Tail(int valid) : mask_(hn::FirstN(kF, static_cast<size_t>(valid))) {}
  HWY_INLINE FloatVec load(const float* from) const { return hn::MaskedLoad(mask_, kF, from); }
  HWY_INLINE void store(FloatVec value, float* to) const { hn::BlendedStore(value, mask_, kF, to); }

 private:
  hn::Mask<FloatTag> mask_;
#else
  explicit HWY_INLINE Tail(int) {}
  HWY_INLINE FloatVec load(const float* from) const { return hn::LoadU(kF, from); }
  HWY_INLINE void store(FloatVec value, float* to) const { hn::StoreU(value, kF, to); }
#endif
};

// `kRows` x `kVectors` accumulators live in registers for the whole of K. Tiles of few accumulators would
// wait for their own sums (two multiply-adds a cycle, four cycles each), so they keep several sets over k, added at the
// end.
template <int kRows, int kVectors>
void gemm_kernel(const GemmTile& tile) {
  constexpr int kSets = kRows * kVectors >= 7 ? 1 : kRows * kVectors >= 3 ? 2 : 4;
  FloatVec sum[kSets][kRows][kVectors];
#pragma GCC unroll 16
  for (int s = 0; s < kSets; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[s][r][v] = hn::Zero(kF);
    }
  }

  const float* const* rows = tile.rows;
  const float* b = tile.panel;
  const int64_t step = tile.panel_step;
  const int64_t depth = tile.depth;
  const char* ahead = tile.ahead;
  const int64_t ahead_step = tile.ahead_step;
  for (int64_t tap = tile.taps; tap != 0; --tap) {
    // k runs from -depth to 0 so that it is the only counter.
    const float* a[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) a[r] = rows[r] + depth;
    rows += kRows;
    int64_t k = -depth;
    if constexpr (kSets > 1) {
      for (; k <= -kSets; k += kSets) {
#pragma GCC unroll 16
        for (int s = 0; s < kSets; ++s) {
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) {
            const FloatVec bv = hn::LoadU(kF, b + v * kLanes);
#pragma GCC unroll 16
            for (int r = 0; r < kRows; ++r) {
              sum[s][r][v] = hn::MulAdd(hn::Set(kF, a[r][k + s]), bv, sum[s][r][v]);
            }
          }
          b += step;
          __builtin_prefetch(ahead, 0, 2);
          ahead += ahead_step;
        }
      }
    }
    for (; k != 0; ++k) {
      FloatVec bv[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(kF, b + v * kLanes);
      b += step;
      __builtin_prefetch(ahead, 0, 2);
      ahead += ahead_step;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const FloatVec av = hn::Set(kF, a[r][k]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[0][r][v] = hn::MulAdd(av, bv[v], sum[0][r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int s = 1; s < kSets; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[0][r][v] = hn::Add(sum[0][r][v], sum[s][r][v]);
    }
  }

  const Tail tail(tile.valid);
  if (tile.bias != nullptr) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const FloatVec bias = hn::LoadU(kF, tile.bias + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sum[0][r][v] = hn::Add(sum[0][r][v], bias);
    }
  }
  if (tile.residual != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float* residual = tile.residual[r] + tile.column;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors - 1; ++v) {
        sum[0][r][v] = hn::Add(sum[0][r][v], hn::LoadU(kF, residual + v * kLanes));
      }
      sum[0][r][kVectors - 1] = hn::Add(sum[0][r][kVectors - 1], tail.load(residual + (kVectors - 1) * kLanes));
    }
  }
  apply_in_registers(tile.activation, [&](const auto& function) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[0][r][v] = function(sum[0][r][v]);
    }
  });
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    float* out = tile.out[r] + tile.column;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors - 1; ++v) hn::StoreU(sum[0][r][v], kF, out + v * kLanes);
    tail.store(sum[0][r][kVectors - 1], out + (kVectors - 1) * kLanes);
  }
}

// Applies `function` to sums + bias + residual, a column of vectors at a time.
template <typename Function>
HWY_INLINE void finish_tile(const TileFinish& tile, const Function& function) {
  for (int j = 0; j < tile.columns; j += kLanes) {
    const int count = tile.columns - j < kLanes ? tile.columns - j : kLanes;
    const bool whole = count == kLanes;
    const FloatVec bias = tile.bias != nullptr ? hn::LoadU(kF, tile.bias + j) : hn::Zero(kF);
    for (int r = 0; r < tile.rows; ++r) {
      FloatVec x = hn::Add(hn::LoadU(kF, tile.sums + r * tile.pitch + j), bias);
      if (tile.residual != nullptr) {
        const float* residual = tile.residual[r] + tile.column + j;
        x = hn::Add(x, whole ? hn::LoadU(kF, residual) : load_n(residual, count));
      }
      x = function(x);
      float* out = tile.out[r] + tile.column + j;
      if (whole) {
        hn::StoreU(x, kF, out);
      } else {
        store_n(x, out, count);
      }
    }
  }
}

void finish_identity(const TileFinish& tile) {
  finish_tile(tile, [](FloatVec x) { return x; });
}
void finish_clamp(const TileFinish& tile) { finish_tile(tile, clamp_function(tile.activation)); }
void finish_line(const TileFinish& tile) { finish_tile(tile, line_function(tile.activation)); }
void finish_hard_swish(const TileFinish& tile) { finish_tile(tile, hard_swish_function(tile.activation)); }
void finish_sigmoid(const TileFinish& tile) { finish_tile(tile, sigmoid_function(tile.activation)); }
void finish_silu(const TileFinish& tile) { finish_tile(tile, silu_function(tile.activation)); }
void finish_gelu(const TileFinish& tile) { finish_tile(tile, gelu_function(tile.activation)); }

}  // namespace

// Tiles that leave registers for the vectors of B and one broadcast: up to 28 accumulators of 32 registers in
// AVX-512, 12 of 16 below.
#define PW_ROW2(r) \
  { nullptr, gemm_kernel<r, 1>, gemm_kernel<r, 2>, nullptr, nullptr }
#define PW_ROW3(r) \
  { nullptr, gemm_kernel<r, 1>, gemm_kernel<r, 2>, gemm_kernel<r, 3>, nullptr }
#define PW_ROW4(r) \
  { nullptr, gemm_kernel<r, 1>, gemm_kernel<r, 2>, gemm_kernel<r, 3>, gemm_kernel<r, 4> }
const GemmTier gemm_tier = {
    kLanes,
    INT32_MAX,
    kMasksTails,
    {{},
#if HWY_TARGET <= HWY_AVX3
     PW_ROW4(1),
     PW_ROW4(2),
     PW_ROW4(3),
     PW_ROW4(4),
     PW_ROW4(5),
     PW_ROW4(6),
     PW_ROW3(7),
     PW_ROW3(8),
     PW_ROW2(9),
     PW_ROW2(10),
     PW_ROW2(11),
     PW_ROW2(12),
     PW_ROW2(13),
     PW_ROW2(14)
#else
     PW_ROW3(1),
     PW_ROW3(2),
     PW_ROW3(3),
     PW_ROW3(4),
     PW_ROW2(5),
     PW_ROW2(6)
#endif
    },
    {finish_identity, finish_clamp, finish_line, finish_hard_swish, finish_sigmoid, finish_silu, finish_gelu},
    is_strip_program,
    strip_program,
    run_tile,
};

}  // namespace planwright::PW_TIER_NAMESPACE
