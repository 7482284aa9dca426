// bf16 tiles in AMX: two by two tile registers of 16 x 16 sums, so that four products share four loads.
#include <immintrin.h>

#include "tactics/kernels/fast/half_tile.h"

namespace planwright::tier_amx {
namespace {

#include "tactics/kernels/fast/half_rows.inc"

constexpr int kTileRows = 16;  // of a tile register, each 64 bytes long

struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

// Eight registers: 0 to 3 hold sums, 4 and 5 A, 6 and 7 B. A constant, for GCC 12 believes that the instruction reads
// the first 8 bytes only and leaves out stores to the others.
constexpr TileConfig kConfig = {
    1,
    0,
    {},
    {64, 64, 64, 64, 64, 64, 64, 64},
    {kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows}};

void begin() { _tile_loadconfig(&kConfig); }

// Leaves the registers in their initial state, which context switches need not save.
void end() { _tile_release(); }

constexpr int64_t kSumBytes = 4, kHalfBytes = 2;

template <int kRowTiles, int kVectors>
void multiply_tiles(const HalfTile& tile) {
  const int64_t a_stride = tile.a_step * kHalfBytes;
  const int64_t b_stride = kVectors * 64;
  const uint16_t* b = tile.panel;
  const char* ahead = tile.ahead;
  _tile_zero(0);
  if constexpr (kVectors > 1) _tile_zero(1);
  if constexpr (kRowTiles > 1) _tile_zero(2);
  if constexpr (kRowTiles > 1 && kVectors > 1) _tile_zero(3);
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const uint16_t* a = tile.a + tile.offsets[tap];
    for (int64_t k = 0; k < tile.depth; k += kHalfStep) {
      _tile_loadd(4, a, a_stride);
      _tile_loadd(6, b, b_stride);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kVectors > 1) {
        _tile_loadd(7, b + 32, b_stride);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kRowTiles > 1) {
        _tile_loadd(5, a + kTileRows * tile.a_step, a_stride);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (kVectors > 1) _tile_dpbf16ps(3, 5, 7);
      }
      for (int64_t line = 0; line < tile.ahead_lines; ++line, ahead += 64) __builtin_prefetch(ahead, 0, 2);
      a += kHalfStep;
      b += kHalfStep / 2 * kVectors * 32;
    }
  }
  const int64_t stride = tile.pitch * kSumBytes;
  _tile_stored(0, tile.sums, stride);
  if constexpr (kVectors > 1) _tile_stored(1, tile.sums + 16, stride);
  if constexpr (kRowTiles > 1) {
    float* below = tile.sums + kTileRows * tile.pitch;
    _tile_stored(2, below, stride);
    if constexpr (kVectors > 1) _tile_stored(3, below + 16, stride);
  }
}

void multiply(const HalfTile& tile) {
  if (tile.rows > kTileRows) {
    return tile.vectors > 1 ? multiply_tiles<2, 2>(tile) : multiply_tiles<2, 1>(tile);
  }
  return tile.vectors > 1 ? multiply_tiles<1, 2>(tile) : multiply_tiles<1, 1>(tile);
}

}  // namespace

const HalfTier half_tier = {2 * kTileRows, kTileRows, begin, end, multiply, gather, finish, narrow, interleave, widen};

}  // namespace planwright::tier_amx
