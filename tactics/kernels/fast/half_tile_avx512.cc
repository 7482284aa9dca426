// bf16 tiles in AVX512-BF16: each instruction adds the products of 16 pairs to 16 sums.
#include <immintrin.h>
#include <string.h>

#include <cstddef>

#include "tactics/kernels/fast/half_tile.h"

namespace planwright::tier_avx512vnni {
namespace {

#include "tactics/kernels/fast/half_rows.inc"

constexpr int kMostRows = 12;  // 24 accumulators, two vectors of B and a pair of A in 32 registers

__m512bh load_pairs(const uint16_t* from) {
  const __m512i bits = _mm512_loadu_si512(from);
  return reinterpret_cast<const __m512bh&>(bits);
}

__m512bh broadcast_pair(const std::byte* from) {
  int pair;
  memcpy(&pair, from, sizeof pair);
  const __m512i bits = _mm512_set1_epi32(pair);
  return reinterpret_cast<const __m512bh&>(bits);
}

template <int kRows, int kVectors>
void multiply_rows(const HalfTile& tile) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  // A pointer for three rows each, whose distances an address can hold: twelve would not stay in registers.
  constexpr int kPointers = (kRows + 2) / 3;
  const int64_t step = tile.a_step * 2;
  const uint16_t* b = tile.panel;
  const char* ahead = tile.ahead;
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const std::byte* a[kPointers];
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) {
      a[i] = reinterpret_cast<const std::byte*>(tile.a + tile.offsets[tap]) + 3 * i * step;
    }
    for (int64_t k = 0; k < 2 * tile.depth; k += 4, b += kVectors * 32) {
      // A step of K is 16 pairs.
      if (k % (2 * kHalfStep) == 0) {
        for (int64_t line = 0; line < tile.ahead_lines; ++line, ahead += 64) __builtin_prefetch(ahead, 0, 2);
      }
      __m512bh pairs[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) pairs[v] = load_pairs(b + v * 32);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const __m512bh pair = broadcast_pair(a[r / 3] + k + r % 3 * step);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], pair, pairs[v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(tile.sums + r * tile.pitch + v * 16, sums[r][v]);
  }
}

template <int kVectors>
void multiply_columns(const HalfTile& tile) {
  constexpr void (*kByRows[kMostRows])(const HalfTile&) = {
      multiply_rows<1, kVectors>,  multiply_rows<2, kVectors>,  multiply_rows<3, kVectors>,
      multiply_rows<4, kVectors>,  multiply_rows<5, kVectors>,  multiply_rows<6, kVectors>,
      multiply_rows<7, kVectors>,  multiply_rows<8, kVectors>,  multiply_rows<9, kVectors>,
      multiply_rows<10, kVectors>, multiply_rows<11, kVectors>, multiply_rows<12, kVectors>};
  kByRows[tile.rows - 1](tile);
}

void multiply(const HalfTile& tile) { return tile.vectors > 1 ? multiply_columns<2>(tile) : multiply_columns<1>(tile); }

void nothing() {}

}  // namespace

const HalfTier half_tier = {kMostRows, 1, nothing, nothing, multiply, gather, finish, narrow, interleave, widen};

}  // namespace planwright::tier_avx512vnni
