// The innermost part of every fast contraction, as the instruction set tiers provide it: micro kernels that compute a
// tile of rows x vectors of the output in registers, and what finishes a tile that has been put aside in L1.
//
// Rows of A are reached through pointers (one a row and kernel tap), so a convolution needs no patch matrix; B comes in
// panels (gemm_panel.h). Everything around the tile (tasks, pointers, the choice of epilogue) is plain code, compiled
// once.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_TILE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_TILE_H_

#include <cstdint>

#include "tactics/kernels/fast/program_strip.h"
#include "tactics/kernels/fast/tile_activation.h"

namespace planwright {

inline constexpr int kMaxTileRows = 14;
inline constexpr int kMaxTileVectors = 4;
inline constexpr int kMaxLanes = 16;

inline constexpr char kNothingAhead = 0;  // a byte in reach, for a prefetch that is not needed

// out[r][column + j] = activation(sum over k of a[r][k] * b[k][j] + bias[j] + residual[r][column + j])
// for all columns j of V vectors but the last lanes - `valid` (GemmTier::masks_tails; else valid is lanes).
struct GemmTile {
  const float* const* rows;  // [taps][R]: where `depth` consecutive elements of row r at that tap start
  int64_t taps, depth;
  const float* panel;  // [taps * depth][V * lanes], rows `panel_step` floats apart
  int64_t panel_step;
  // What is read next, brought into L2 meanwhile: a line at every `ahead_step` bytes, one a row of the panel
  // (read_ahead).
  const char* ahead = &kNothingAhead;
  int64_t ahead_step = 0;
  float* const* out;  // [R]
  int64_t column;
  int valid;                     // lanes of the last vector that are columns
  const float* bias;             // [V * lanes], or null
  const float* const* residual;  // [R], or null
  TileActivation activation;     // one that runs in registers
};
using GemmKernel = void (*)(const GemmTile& tile);

// Of a next panel that an L2 of 1 MiB and more holds beside the input; a smaller one loses it again.
inline constexpr int64_t kMostReadAhead = 640 * 1024;

// Has tile number `index` of the `tiles` that share a panel bring in its part of the next one, `rows` rows of
// `row_bytes`. The first of many bring in a line a row of their own, which is as much as memory gives meanwhile (64
// bytes in the 12 cycles of 24 multiply-adds are 14 GB/s at 2.6 GHz); more prefetches than lines would cost more than
// they hide.
template <typename Tile>
inline void read_ahead(const float* next, int64_t rows, int64_t row_bytes, int64_t index, int64_t tiles, Tile* tile) {
  constexpr int64_t kLine = 64;
  if (rows * row_bytes > kMostReadAhead) return;
  const int64_t shares = row_bytes <= kLine ? 1 : row_bytes / kLine < tiles ? row_bytes / kLine : tiles;
  if (index >= shares) return;
  tile->ahead_step = row_bytes / shares;
  tile->ahead = reinterpret_cast<const char*>(next) + index * rows * tile->ahead_step;
}

// A tile put aside: element (r, j) of the sums at sums[r * pitch + j]; pitch is a multiple of the lanes and all of it
// readable. Writes out[r][column + j] for j < columns only.
struct TileFinish {
  const float* sums;
  int64_t pitch;
  int rows, columns;
  float* const* out;
  int64_t column;
  const float* bias;             // [columns], readable to the next whole vector; or null
  const float* const* residual;  // [rows], or null
  TileActivation activation;
};

// What one tier provides.
struct GemmTier {
  int lanes;
  int most_columns;  // that its kernels are for
  // Whether micro kernels can leave out lanes of the last vector when they load residuals and store.
  bool masks_tails;
  GemmKernel kernels[kMaxTileRows + 1][kMaxTileVectors + 1];  // [R][V]; null where registers do not hold such a tile
  void (*finish[kTileFunctionCount])(const TileFinish& tile);
  bool (*is_strip_program)(const PwInstr* instructions, int count);
  // Null where only straight epilogues run.
  StripProgram (*strip_program)(const PwInstr* instructions, int count);
  void (*run_tile)(const StripProgram& program, const StripOperand* operands, const float* accumulator,
                   const StripOutput* outputs, const StripTile& tile, float* registers);
};

namespace tier_baseline {
extern const GemmTier gemm_tier;
extern const GemmTier dot_tier;
}  // namespace tier_baseline
namespace tier_avx2 {
extern const GemmTier gemm_tier;
extern const GemmTier dot_tier;
}  // namespace tier_avx2
namespace tier_avx512 {
extern const GemmTier gemm_tier;
extern const GemmTier dot_tier;
}  // namespace tier_avx512

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_TILE_H_
