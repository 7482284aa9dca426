// Products of bytes in AVX512-VNNI: each instruction adds the products of 16 groups of four to 16 sums, and saturates
// nowhere.
#include <immintrin.h>
#include <string.h>

#include "tactics/kernels/fast/byte_tile.h"

namespace planwright::tier_avx512vnni {
namespace {

constexpr int kLanes = 16;

__m512i broadcast_group(const uint8_t* from) {
  int group;
  memcpy(&group, from, sizeof group);
  return _mm512_set1_epi32(group);
}

// 24 accumulators, two vectors of B and a group of A in 32 registers. Tiles of few would wait for their own sums (two
// instructions a cycle, five cycles each), so they keep several sets over K, added at the end.
template <int kRows, int kVectors>
void multiply_rows(const ByteTile& tile) {
  constexpr int kSets = kRows * kVectors >= 8 ? 1 : kRows * kVectors >= 4 ? 2 : 4;
  __m512i sums[kSets][kRows][kVectors];
  const auto* columns = reinterpret_cast<const int32_t*>(tile.panel);
  const __m512i offset = _mm512_set1_epi32(-tile.offset);
#pragma GCC unroll 4
  for (int s = 0; s < kSets; ++s) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const __m512i first =
          s == 0 ? _mm512_mullo_epi32(_mm512_loadu_si512(columns + v * kLanes), offset) : _mm512_setzero_si512();
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[s][r][v] = first;
    }
  }
  // A pointer for three rows each, whose distances an address can hold: twelve would not stay in registers.
  constexpr int kPointers = (kRows + 2) / 3;
  const int64_t step = tile.a_step;
  const uint8_t* a[kPointers];
  const int32_t* b = columns + kVectors * kLanes;
  const char* ahead = tile.ahead;
  const int64_t ahead_step = tile.ahead_step;
  const auto add_group = [&](__m512i(&to)[kRows][kVectors], int64_t k) {
    __m512i groups[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) groups[v] = _mm512_loadu_si512(b + v * kLanes);
    b += kVectors * kLanes;
    __builtin_prefetch(ahead, 0, 2);
    ahead += ahead_step;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512i group = broadcast_group(a[r / 3] + k + r % 3 * step);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) to[r][v] = _mm512_dpbusd_epi32(to[r][v], group, groups[v]);
    }
  };
  const int64_t end = tile.groups * kByteGroup;
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const uint8_t* const first = tile.a + tile.offsets[tap];
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) a[i] = first + 3 * i * step;
    int64_t k = 0;
    if constexpr (kSets > 1) {
      for (; k + kSets * kByteGroup <= end; k += kSets * kByteGroup) {
#pragma GCC unroll 4
        for (int s = 0; s < kSets; ++s) add_group(sums[s], k + s * kByteGroup);
      }
    }
    for (; k < end; k += kByteGroup) add_group(sums[0], k);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (int s = 1; s < kSets; ++s) sums[0][r][v] = _mm512_add_epi32(sums[0][r][v], sums[s][r][v]);
      _mm512_storeu_si512(tile.sums + r * tile.pitch + v * kLanes, sums[0][r][v]);
    }
  }
}

template <int kVectors>
void multiply_columns(const ByteTile& tile) {
  constexpr void (*kByRows[kByteTileRows])(const ByteTile&) = {
      multiply_rows<1, kVectors>,  multiply_rows<2, kVectors>,  multiply_rows<3, kVectors>,
      multiply_rows<4, kVectors>,  multiply_rows<5, kVectors>,  multiply_rows<6, kVectors>,
      multiply_rows<7, kVectors>,  multiply_rows<8, kVectors>,  multiply_rows<9, kVectors>,
      multiply_rows<10, kVectors>, multiply_rows<11, kVectors>, multiply_rows<12, kVectors>};
  kByRows[tile.rows - 1](tile);
}

void multiply(const ByteTile& tile) { return tile.vectors > 1 ? multiply_columns<2>(tile) : multiply_columns<1>(tile); }

}  // namespace

const ByteTier byte_tier = {multiply, &tier_avx512::byte_support};

}  // namespace planwright::tier_avx512vnni
