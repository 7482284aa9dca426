// The innermost part of contractions of bytes: products of tiles of uint8 (or int8) by int8, whose sums are int32. As
// in gemm_tile.h everything around the tile is plain code, compiled once. All tiers give the same bytes: sums are
// exact, and what follows them in fp32 adds and multiplies apart.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_TILE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_TILE_H_

#include <cstdint>

#include "schemas/types/dtype.h"
#include "tactics/kernels/fast/tile_activation.h"

namespace planwright {

inline constexpr int kByteTileRows = 12;    // at most, of any table
inline constexpr int kByteTileVectors = 2;  // of int32
inline constexpr int kByteGroup = 4;        // K is padded to whole groups with zeros

// sums[r][j] = sum over t and k of (a[r * a_step + offsets[t] + k] - offset) * b[t][k][j], for r < rows, t < taps,
// k < 4 * groups and j < vectors * lanes.
struct ByteTile {
  const uint8_t* a;
  int64_t a_step;
  const int64_t* offsets;
  int64_t taps;
  // The sums over t and k of b[t][k][j], an int32 a column, then b: [taps][groups][vectors * lanes][4], int8.
  const float* panel;
  int64_t groups;
  int rows, vectors;
  int32_t offset;
  int32_t* sums;  // rows `pitch` apart
  int64_t pitch;
  // As in GemmTile, a line a group.
  const char* ahead;
  int64_t ahead_step;
};

// Rows of A as uint8, evenly apart, from where they lie.
struct ByteRows {
  const float* const* from;  // [taps][rows]: addresses of `depth` bytes each, carried as if of floats
  bool is_signed;            // int8, to which 128 is added
  int rows;
  int64_t taps, depth;
  uint8_t* to;  // rows `step` apart, each padded to `padded` bytes with zeros
  int64_t step, padded;
};

// clamp(x, low, high), then if `rounds` that is rounded to the nearest integer, ties to even, and what becomes of x is
// (clamp(that + zero, least, most) + shift) * rescale.
struct ByteActivation {
  float low = -__builtin_inff(), high = __builtin_inff();
  bool rounds = false;
  float zero = 0.0f, least = -__builtin_inff(), most = __builtin_inff();
  float shift = -0.0f, rescale = 1.0f;  // -0 is what can be added to any number
};

// A tile's epilogue where it is: x = (sum + before) * scale + after, function(x) * factor + offset of that, where
// there is a function (kIdentity: none; kHardSwish multiplies and adds apart, and its gamma is 0). Then first(x), to
// that if there is a residual (residual + residual_shift) * residual_scale (or `added`), and if `twice` the second
// activation of all. Where there is a table, what the first activation rounds to are its indices, and its shift and
// rescale are of what it makes of them.
struct ByteEnd {
  TileActivation function;
  ByteActivation first, second;
  bool twice = false;
  DType table_types[2] = {DType::kU8, DType::kU8};  // of the elements of each activation's table
  float residual_shift = -0.0f, residual_scale = 1.0f;
};
inline constexpr int kByteTable = 256;
struct ByteFinish {
  int32_t* sums;  // rows `pitch` apart; with a table or function undefined after
  int64_t pitch;
  int rows, columns;
  int64_t column;                       // where the tile begins in rows of the output and the residual
  const float *before, *scale, *after;  // [columns], readable to the next whole vector
  const float *factor, *offset;         // the same, read where there is a function
  const float* const* residual;         // [rows], carried as if of floats; or null
  DType residual_type;                  // fp32, uint8 or int8
  const float* added;                   // in place of the residual a number for each column, as above; or null
  const uint8_t* tables[2];             // [kByteTable] of each activation, or null
  ByteEnd end;
  bool are_floats;  // in place of the sums
  // Of the output: fp32, or of bytes, in whose range `least` and `most` of the last activation are then, which rounds.
  DType type;
  float* const* out;  // [rows], carried as if of floats
};

// What surrounds products.
struct ByteSupport {
  void (*gather)(const ByteRows& rows);
  void (*finish)(const ByteFinish& tile);
  // Makes floats of `count` sums where they lie; a multiple of the lanes.
  void (*widen_sums)(int32_t* sums, int64_t count);
  // Of int8, uint8 or int32.
  void (*widen)(DType type, const void* from, int64_t count, float* to);
  // To int8, uint8 or int32, as a store does (program.h).
  void (*narrow)(DType type, const float* from, int64_t count, void* to);
  // to[i] = table[from[i]], of kByteTable elements; in place too.
  void (*translate)(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to);
};

struct ByteTier {
  void (*multiply)(const ByteTile& tile);
  const ByteSupport* support;
};

namespace tier_baseline {
extern const ByteSupport byte_support;
extern const ByteTier byte_tier;
}  // namespace tier_baseline
namespace tier_avx2 {
extern const ByteSupport byte_support;
extern const ByteTier byte_tier;
}  // namespace tier_avx2
namespace tier_avx512 {
extern const ByteSupport byte_support;
extern const ByteTier byte_tier;
}  // namespace tier_avx512
namespace tier_avx512vnni {
extern const ByteTier byte_tier;
}  // namespace tier_avx512vnni

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_BYTE_TILE_H_
