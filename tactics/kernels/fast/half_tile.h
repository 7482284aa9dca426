// The innermost part of contractions in bf16: products of tiles whose operands are bf16 and whose sums are fp32. As in
// gemm_tile.h everything around the tile is plain code, compiled once; half_tile_amx.cc and half_tile_avx512.cc are
// compiled for one instruction set each and export nothing but their table.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_HALF_TILE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_HALF_TILE_H_

#include <cstdint>

#include "tactics/kernels/fast/gemm_tile.h"

namespace planwright {

inline constexpr int kHalfTileRows = 32;    // at most, of any table
inline constexpr int kHalfTileVectors = 2;  // of 16 columns
// K is padded to whole steps with zeros: 32 bf16 are a row of an AMX tile.
inline constexpr int kHalfStep = 32;

// sums[r][j] = sum over t and k of a[offsets[t] + r * a_step + k] * b[t * depth + k][j], for r < rows, t < taps, k <
// depth and j < vectors * 16.
struct HalfTile {
  const uint16_t* a;  // rows are read in whole granules (HalfTier)
  int64_t a_step;
  const int64_t* offsets;  // [taps]
  int64_t taps;
  const uint16_t* panel;  // [taps * depth / 2][vectors * 16][2]: pairs along k are neighbours
  int64_t depth;          // a multiple of kHalfStep
  int rows, vectors;
  float* sums;  // rows `pitch` apart
  int64_t pitch;
  // What is read next, brought into L2 meanwhile: `ahead_lines` lines of 64 bytes for each step of K.
  const char* ahead;
  int64_t ahead_lines;
};

// Rows of A as bf16, evenly apart, from where they lie.
struct HalfRows {
  // [taps][rows]: addresses of `depth` elements, each fp32 or each bf16; K = taps * depth.
  const float* const* from;
  bool half;
  int rows;
  int64_t taps, depth;
  uint16_t* to;  // rows `step` apart, each padded to `padded` elements with zeros
  int64_t step, padded;
};

// A tile's epilogue, of those that run in registers (gemm_tile.h).
struct HalfFinish {
  const float* sums;  // rows `pitch` apart
  int64_t pitch;
  int rows, columns;
  int64_t column;                // where the tile begins in rows of the output and the residual
  const float* bias;             // [columns], readable to the next whole vector; or null
  const float* const* residual;  // [rows], or null
  bool half_residual, half_out;  // bf16, the addresses carried as if of floats
  float* const* out;             // [rows]
  TileActivation activation;
};

struct HalfTier {
  int rows;     // of a tile
  int granule;  // rows that a tile reads together: it reads and writes the next multiple of it
  // Around the tiles of a task, on its thread.
  void (*begin)();
  void (*end)();
  void (*multiply)(const HalfTile& tile);
  void (*gather)(const HalfRows& rows);
  void (*finish)(const HalfFinish& tile);
  // Rounds to the nearest bf16, ties to even.
  void (*narrow)(const float* from, int64_t count, uint16_t* to);
  // to[4 * i + c] = from[c * channel_step + i], rounded, for i < count and c < channels; 0 for other c < 4.
  void (*interleave)(const float* from, int64_t channel_step, int channels, int64_t count, uint16_t* to);
  void (*widen)(const uint16_t* from, int64_t count, float* to);
};

namespace tier_avx512vnni {
extern const HalfTier half_tier;
}  // namespace tier_avx512vnni
namespace tier_amx {
extern const HalfTier half_tier;
}  // namespace tier_amx

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_HALF_TILE_H_
