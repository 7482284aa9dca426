// Pieces of A by codes in AVX512-VNNI: each instruction adds 64 products to 16 sums.
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "tactics/kernels/fast/block_pieces.h"

namespace planwright::tier_avx512vnni {
namespace {

constexpr int kLanes = 16;
// Without a mask some intrinsics of GCC 12 read what it then warns is uninitialised.
constexpr __mmask16 kAll = 0xFFFF;
constexpr float kLargestPiece = 127.0f;
constexpr float kPieceStep = 254.0f;  // of a piece in the next: the rest, half a unit, becomes the largest piece
// A block's largest element at least: then neither its scale nor the scale's inverse is denormal.
constexpr float kSmallestBlock = 0x1p-100f;
// Elements so much smaller than the largest lose 2^-16 of their own beside it, which shows where that meets weights of
// 0: no more than a quarter may be.
constexpr float kSmall = 1.0f / 256;
constexpr int64_t kMostSmall = 4;  // a quarter
constexpr int64_t kGroupBytes = kPieces * kPieceRows;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

__mmask16 mask_of(int64_t count) { return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : (1 << count) - 1); }

float largest_of(__m512 vector) {
  alignas(64) float lanes[kLanes];
  _mm512_store_ps(lanes, vector);
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

int32_t sum_of(__m512i vector) {
  alignas(64) int32_t lanes[kLanes];
  _mm512_store_si512(lanes, vector);
  int32_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  return sum;
}

// Whether pieces can tell the block, and its largest element.
bool measure(const float* a, int64_t rows, float* largest) {
  const __m512 most = _mm512_set1_ps(FLT_MAX), magnitude = _mm512_castsi512_ps(_mm512_set1_epi32(0x7FFFFFFF));
  __m512 all = _mm512_setzero_ps();
  __mmask16 strange = 0;
  for (int64_t k = 0; k < rows; k += kLanes) {
    const __m512 size = _mm512_maskz_and_ps(kAll, magnitude, _mm512_maskz_loadu_ps(mask_of(rows - k), a + k));
    strange |= _mm512_cmp_ps_mask(size, most, _CMP_NLE_UQ);
    all = _mm512_maskz_max_ps(kAll, all, size);
  }
  *largest = largest_of(all);
  if (strange != 0) return false;
  if (*largest == 0.0f) return true;
  if (*largest < kSmallestBlock) return false;
  const __m512 limit = _mm512_set1_ps(*largest * kSmall);
  int64_t small = 0;
  for (int64_t k = 0; k < rows; k += kLanes) {
    const __m512 size = _mm512_maskz_and_ps(kAll, magnitude, _mm512_maskz_loadu_ps(mask_of(rows - k), a + k));
    const __mmask16 some = _mm512_cmp_ps_mask(size, _mm512_setzero_ps(), _CMP_GT_OQ);
    small += __builtin_popcount(_mm512_mask_cmp_ps_mask(some, size, limit, _CMP_LT_OQ));
  }
  return small * kMostSmall <= rows;
}

void split_block(const float* a, int64_t rows, float largest, PieceBlock* block, int8_t* to) {
  block->scale = largest / kLargestPiece;
  const __m512 inverse = _mm512_set1_ps(largest == 0.0f ? 0.0f : kLargestPiece / largest);
  const __m512 step = _mm512_set1_ps(kPieceStep);
  __m512i sums[kPieces] = {};
  for (int64_t k = 0; k < rows; k += kLanes) {
    __m512 rest = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask_of(rows - k), a + k), inverse);
    const bool both = rows - k > kPieceRows;
#pragma GCC unroll 3
    for (int piece = 0; piece < kPieces; ++piece, to += kPieceRows) {
      const __m512i whole = _mm512_maskz_cvtps_epi32(kAll, rest);
      rest = _mm512_mul_ps(_mm512_sub_ps(rest, _mm512_maskz_cvtepi32_ps(kAll, whole)), step);
      sums[piece] = _mm512_add_epi32(sums[piece], whole);
      const __m128i bytes = _mm512_maskz_cvtsepi32_epi8(kAll, whole);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
      if (both) _mm_storel_epi64(reinterpret_cast<__m128i*>(to + kGroupBytes), _mm_unpackhi_epi64(bytes, bytes));
    }
    to += kGroupBytes;
  }
  for (int piece = 0; piece < kPieces; ++piece) block->sums[piece] = sum_of(sums[piece]);
}

void split(const BlockProduct& product, const float* a, PieceRow* row) {
  row->floats = nullptr;
  auto* to = reinterpret_cast<int8_t*>(row + 1);
  for (int64_t k = 0; k < product.depth; k += product.block) {
    const int64_t rows = least(product.block, product.depth - k);
    float largest;
    if (!measure(a + k, rows, &largest)) {
      row->floats = a;
      return;
    }
    auto* block = reinterpret_cast<PieceBlock*>(to);
    to += sizeof(PieceBlock);
    split_block(a + k, rows, largest, block, to);
    to += piece_groups(rows) * kGroupBytes;
  }
}

__m512i broadcast_four(const int8_t* from) {
  int32_t four;
  memcpy(&four, from, sizeof four);
  return _mm512_set1_epi32(four);
}

template <int kBits, int kRows, int kVectors>
void multiply_rows(const BlockPanel& panel, const PieceRow* const* rows, float* sums, int64_t pitch) {
  constexpr int kGroupVectors = kVectors * kBits / 4;
  const __m512i half = _mm512_set1_epi8(15);
  const __m512 second = _mm512_set1_ps(1 / kPieceStep), third = _mm512_set1_ps(1 / (kPieceStep * kPieceStep));
  __m512 totals[kRows][kVectors];
  const int8_t* a[kRows];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    a[r] = reinterpret_cast<const int8_t*>(rows[r] + 1);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) totals[r][v] = _mm512_setzero_ps();
  }
  const std::byte* at = panel.data;
  for (int64_t k = 0; k < panel.depth; k += panel.block) {
    const int64_t groups = piece_groups(least(panel.block, panel.depth - k));
    const auto* scales = reinterpret_cast<const float*>(at);
    at += kVectors * kLanes * sizeof(float);
    __m512i products[kRows][kVectors][kPieces];
    float scale[kRows];
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      PieceBlock block;
      memcpy(&block, a[r], sizeof block);
      a[r] += sizeof block;
      scale[r] = block.scale;
#pragma GCC unroll 3
      for (int piece = 0; piece < kPieces; ++piece) {
        const __m512i start = _mm512_set1_epi32(-code_offset(kBits) * block.sums[piece]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) products[r][v][piece] = start;
      }
    }
    for (int64_t group = 0; group < groups; ++group, at += kGroupVectors * 64) {
      __m512i low[kVectors], high[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const __m512i codes = _mm512_loadu_si512(at + v * 64);
        if (kBits == 8) {
          low[v] = codes;
          high[v] = _mm512_loadu_si512(at + (kVectors + v) * 64);
        } else {
          low[v] = _mm512_and_si512(codes, half);
          high[v] = _mm512_and_si512(_mm512_maskz_srli_epi32(kAll, codes, 4), half);
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
        for (int piece = 0; piece < kPieces; ++piece) {
          const __m512i first = broadcast_four(a[r] + piece * kPieceRows);
          const __m512i next = broadcast_four(a[r] + piece * kPieceRows + 4);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            products[r][v][piece] = _mm512_dpbusd_epi32(products[r][v][piece], low[v], first);
          }
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            products[r][v][piece] = _mm512_dpbusd_epi32(products[r][v][piece], high[v], next);
          }
        }
        a[r] += kGroupBytes;
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __m512 of_columns = _mm512_loadu_ps(scales + v * kLanes);
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        __m512 sum = _mm512_maskz_cvtepi32_ps(kAll, products[r][v][0]);
        sum = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(kAll, products[r][v][1]), second, sum);
        sum = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(kAll, products[r][v][2]), third, sum);
        // In this order, for the product of two scales may be denormal.
        totals[r][v] = _mm512_fmadd_ps(_mm512_mul_ps(sum, _mm512_set1_ps(scale[r])), of_columns, totals[r][v]);
      }
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(sums + r * pitch + v * kLanes, totals[r][v]);
  }
}

// A row that pieces do not tell, as floats: of each word of four codes one at a time.
template <int kBits>
void multiply_floats(const BlockPanel& panel, const float* a, float* sums) {
  constexpr int kHalf = kPieceRows / 2;
  const int vectors = panel.width / kLanes;
  const __m512i mask = _mm512_set1_epi32((1 << kBits) - 1), offset = _mm512_set1_epi32(code_offset(kBits));
  for (int v = 0; v < vectors; ++v) _mm512_storeu_ps(sums + v * kLanes, _mm512_setzero_ps());
  const std::byte* at = panel.data;
  for (int64_t k = 0; k < panel.depth; k += panel.block) {
    const int64_t rows = least(panel.block, panel.depth - k);
    const auto* scales = reinterpret_cast<const float*>(at);
    at += panel.width * sizeof(float);
    for (int v = 0; v < vectors; ++v) {
      const __m512 scale = _mm512_loadu_ps(scales + v * kLanes);
      float* to = sums + v * kLanes;
      __m512 sum = _mm512_loadu_ps(to);
      for (int64_t row = 0; row < rows; ++row) {
        const bool later = row % kPieceRows >= kHalf;
        const std::byte* words = at + row / kPieceRows * panel.width * kBits + v * 64 +
                                 (later && kBits == 8 ? panel.width * kHalf : 0);
        const auto shift = static_cast<unsigned>(row % kHalf * 8 + (later && kBits == 4 ? 4 : 0));
        const __m512i code = _mm512_and_si512(
            _mm512_maskz_srl_epi32(kAll, _mm512_loadu_si512(words), _mm_cvtsi32_si128(static_cast<int>(shift))), mask);
        const __m512 weight = _mm512_mul_ps(_mm512_maskz_cvtepi32_ps(kAll, _mm512_sub_epi32(code, offset)), scale);
        sum = _mm512_fmadd_ps(_mm512_set1_ps(a[k + row]), weight, sum);
      }
      _mm512_storeu_ps(to, sum);
    }
    at += piece_groups(rows) * panel.width * kBits;
  }
}

template <int kBits, int kRows>
void multiply_width(const BlockPanel& panel, const PieceRow* const* rows, float* sums, int64_t pitch) {
  switch (panel.width / kLanes) {
    case 1: return multiply_rows<kBits, kRows, 1>(panel, rows, sums, pitch);
    case 2: return multiply_rows<kBits, kRows, 2>(panel, rows, sums, pitch);
    case 3: return multiply_rows<kBits, kRows, 3>(panel, rows, sums, pitch);
    default: return multiply_rows<kBits, kRows, 4>(panel, rows, sums, pitch);
  }
}

template <int kBits>
void multiply_codes(const BlockPanel& panel, const PieceRow* const* rows, int count, float* sums, int64_t pitch) {
  if (count == 2 && rows[0]->floats == nullptr && rows[1]->floats == nullptr) {
    return multiply_width<kBits, 2>(panel, rows, sums, pitch);
  }
  for (int r = 0; r < count; ++r) {
    if (rows[r]->floats != nullptr) {
      multiply_floats<kBits>(panel, rows[r]->floats, sums + r * pitch);
    } else {
      multiply_width<kBits, 1>(panel, rows + r, sums + r * pitch, pitch);
    }
  }
}

void multiply(const BlockPanel& panel, const PieceRow* const* rows, int count, float* sums, int64_t pitch) {
  return panel.bits == 4 ? multiply_codes<4>(panel, rows, count, sums, pitch)
                         : multiply_codes<8>(panel, rows, count, sums, pitch);
}

}  // namespace

extern const PieceTier piece_tier;
const PieceTier piece_tier = {split, multiply};

}  // namespace planwright::tier_avx512vnni
