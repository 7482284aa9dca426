// Micro kernels for products of few columns, which have no vectors of columns to compute: their vectors run along K.
// A panel is one column, so that its packed form is the column itself. On one core of an AVX-512 CPU, a 5x5
// convolution of 8 channels to 1 took 2.4 ms with a vector of 8 lanes for its one column and 0.3 with these.
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/fast/lane_sums.h"
#include "tactics/kernels/fast/tile_functions.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int kMostRows = 8;  // as many chains of multiply-adds as two units of four cycles keep busy
constexpr int kMostColumns = 4;

// What `finish` needs of the operands of rows [r, r + kLanes), gathered.
struct Column {
  float* const* out;
  int64_t column;
  const float* const* residual;
  int rows;

  HWY_INLINE FloatVec add_residual(FloatVec x, int r) const {
    if (residual == nullptr) return x;
    alignas(64) float lanes[kLanes] = {};
    for (int i = 0; i < kLanes && r + i < rows; ++i) lanes[i] = residual[r + i][column];
    return hn::Add(x, hn::Load(kF, lanes));
  }
  HWY_INLINE void store(FloatVec x, int r) const {
    alignas(64) float lanes[kLanes];
    hn::Store(x, kF, lanes);
    for (int i = 0; i < kLanes && r + i < rows; ++i) out[r + i][column] = lanes[i];
  }
};

template <int kRows>
void dot_kernel(const GemmTile& tile) {
  FloatVec sum[kMostRows];
#pragma GCC unroll 8
  for (int r = 0; r < kMostRows; ++r) sum[r] = hn::Zero(kF);
  const float* const* rows = tile.rows;
  const float* b = tile.panel;
  for (int64_t tap = tile.taps; tap != 0; --tap, rows += kRows, b += tile.depth) {
    int64_t k = 0;
    for (; k + kLanes <= tile.depth; k += kLanes) {
      const FloatVec bv = hn::LoadU(kF, b + k);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r] = hn::MulAdd(hn::LoadU(kF, rows[r] + k), bv, sum[r]);
    }
    const int rest = static_cast<int>(tile.depth - k);
    if (rest == 0) continue;
    const FloatVec bv = load_n(b + k, rest);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r] = hn::MulAdd(load_n(rows[r] + k, rest), bv, sum[r]);
  }

  constexpr int kSums = kMostRows < kLanes ? kLanes : kMostRows;
  alignas(64) float sums[kSums] = {};
  hn::StoreU(add_lanes(sum[0], sum[1], sum[2], sum[3]), Quad(), sums);
  if constexpr (kRows > 4) hn::StoreU(add_lanes(sum[4], sum[5], sum[6], sum[7]), Quad(), sums + 4);
  const Column column = {tile.out, tile.column, tile.residual, kRows};
  for (int r = 0; r < kRows; r += kLanes) {
    FloatVec x = hn::Load(kF, sums + r);
    if (tile.bias != nullptr) x = hn::Add(x, hn::Set(kF, tile.bias[0]));
    x = column.add_residual(x, r);
    apply_in_registers(tile.activation, [&](const auto& function) { x = function(x); });
    column.store(x, r);
  }
}

// As in gemm_tile.tier.cc, with the rows of one column in a vector.
template <typename Function>
HWY_INLINE void finish_column(const TileFinish& tile, const Function& function) {
  const Column column = {tile.out, tile.column, tile.residual, tile.rows};
  const FloatVec bias = hn::Set(kF, tile.bias != nullptr ? tile.bias[0] : 0.0f);
  for (int r = 0; r < tile.rows; r += kLanes) {
    const int count = tile.rows - r < kLanes ? tile.rows - r : kLanes;
    const FloatVec x = hn::Add(load_n(tile.sums + r, count), bias);
    column.store(function(column.add_residual(x, r)), r);
  }
}

void finish_identity(const TileFinish& tile) {
  finish_column(tile, [](FloatVec x) { return x; });
}
void finish_clamp(const TileFinish& tile) { finish_column(tile, clamp_function(tile.activation)); }
void finish_line(const TileFinish& tile) { finish_column(tile, line_function(tile.activation)); }
void finish_hard_swish(const TileFinish& tile) { finish_column(tile, hard_swish_function(tile.activation)); }
void finish_sigmoid(const TileFinish& tile) { finish_column(tile, sigmoid_function(tile.activation)); }
void finish_silu(const TileFinish& tile) { finish_column(tile, silu_function(tile.activation)); }
void finish_gelu(const TileFinish& tile) { finish_column(tile, gelu_function(tile.activation)); }

}  // namespace

#define PW_ROW(r) \
  { nullptr, dot_kernel<r>, nullptr, nullptr, nullptr }
const GemmTier dot_tier = {
    .lanes = 1,
    .most_columns = kMostColumns,
    .masks_tails = true,
    .kernels = {{}, PW_ROW(1), PW_ROW(2), PW_ROW(3), PW_ROW(4), PW_ROW(5), PW_ROW(6), PW_ROW(7), PW_ROW(8)},
    .finish = {finish_identity, finish_clamp, finish_line, finish_hard_swish, finish_sigmoid, finish_silu, finish_gelu},
    .is_strip_program = is_strip_program,
    .strip_program = nullptr,
    .run_tile = nullptr,
};

}  // namespace planwright::PW_TIER_NAMESPACE
