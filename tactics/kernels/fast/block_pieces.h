// BlockMatMul of few rows of A, multiplied as integers: each block of a row of A is a scale times three pieces of eight
// bits, p0 + p1 / 254 + p2 / 254^2, which together tell 2^-24 of its largest element. An instruction adds 64 products
// of a piece and codes, where floats take three for 16: a row by 4096x4096 of int4 takes 0.39 ms in place of 0.71, that
// is 27 GB/s of packed weights, where fp32 reads 28.
//
// Packed: panel after panel (gemm_panel.h), each block after block: a scale for each column, then eight rows at a time,
// of each vector of 16 columns four bytes a column. Of int4 byte i holds row i in its low half and row i + 4 in its high
// half; of int8 there are rows 0 to 3 of all columns and then rows 4 to 7. Codes are 8 or 128 more than what they stand
// for; rows past the block's last stand for 0.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_PIECES_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "tactics/kernels/fast/block_matmul.h"

namespace planwright {

inline constexpr int kPieces = 3;
inline constexpr int kPieceRows = 8;      // whose codes lie together
inline constexpr int kPieceTileRows = 2;  // of A, whose sums stay in registers

// A row of A in pieces: this, then for each block a PieceBlock and for every eight rows kPieces times eight int8.
struct alignas(16) PieceRow {
  // The row itself, where pieces do not tell it: it has numbers that are not finite, or a block of tiny ones or some far
  // larger than most.
  const float* floats;
};
struct PieceBlock {
  float scale;
  int32_t sums[kPieces];  // of each piece
};

inline constexpr int code_offset(int bits) { return bits == 4 ? 8 : 128; }
inline int64_t piece_groups(int64_t rows) { return rows / kPieceRows + (rows % kPieceRows != 0 ? 1 : 0); }

struct PieceTier {
  // Makes `row` of the product's depth.
  void (*split)(const BlockProduct& product, const float* a, PieceRow* row);
  // sums[r * pitch + j] = sum over k of row r of A [k] * panel[k][j], for `count` rows, at most kPieceTileRows.
  void (*multiply)(const BlockPanel& panel, const PieceRow* const* rows, int count, float* sums, int64_t pitch);
};

namespace tier_avx512vnni {
extern const PieceTier piece_tier;
}  // namespace tier_avx512vnni

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_PIECES_H_
