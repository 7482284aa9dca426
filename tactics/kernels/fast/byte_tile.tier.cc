#include "tactics/kernels/fast/byte_tile.h"

#include "tactics/kernels/fast/byte_strip.h"
#include "tactics/kernels/fast/gemm_tile.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;
using ShortTag = hn::Repartition<int16_t, IntTag>;
using ShortVec = hn::Vec<ShortTag>;
constexpr IntTag kI32{};
constexpr ShortTag kI16{};
constexpr hn::RebindToUnsigned<ShortTag> kU16{};

// ---- Products

// Pairs of bytes are widened to 16 bits, in which no product or sum of two saturates (of u8 by s8 pairs it may), the
// even ones of a group and the odd ones apart: 24 accumulators of 32 registers in AVX-512, 8 of 16 below.
template <int kRows, int kVectors>
void multiply_rows(const ByteTile& tile) {
  IntVec sums[kRows][kVectors];
  const auto* columns = reinterpret_cast<const int32_t*>(tile.panel);
  const IntVec offset = hn::Set(kI32, -tile.offset);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const IntVec first = hn::Mul(hn::LoadU(kI32, columns + v * kLanes), offset);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][v] = first;
  }
  const int32_t* b = columns + kVectors * kLanes;
  const int64_t step = tile.a_step;
  const char* ahead = tile.ahead;
  const ShortVec low = hn::Set(kI16, 0xFF);
  const auto add_group = [&](const uint8_t* a) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += tile.ahead_step;
    ShortVec even[kVectors], odd[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const ShortVec bytes = hn::BitCast(kI16, hn::LoadU(kI32, b + v * kLanes));
      even[v] = hn::ShiftRight<8>(hn::ShiftLeft<8>(bytes));
      odd[v] = hn::ShiftRight<8>(bytes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      int32_t bytes;
      __builtin_memcpy(&bytes, a + r * step, sizeof bytes);
      const ShortVec both = hn::BitCast(kI16, hn::Set(kI32, bytes));
      const ShortVec a_even = hn::And(both, low);
      const ShortVec a_odd = hn::BitCast(kI16, hn::ShiftRight<8>(hn::BitCast(kU16, both)));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        IntVec unused = hn::Zero(kI32);
        sums[r][v] = hn::ReorderWidenMulAccumulate(kI32, a_even, even[v], sums[r][v], unused);
        sums[r][v] = hn::ReorderWidenMulAccumulate(kI32, a_odd, odd[v], sums[r][v], unused);
      }
    }
    b += kVectors * kLanes;
  };
  for (int64_t tap = 0; tap < tile.taps; ++tap) {
    const uint8_t* a = tile.a + tile.offsets[tap];
    for (int64_t group = 0; group < tile.groups; ++group, a += kByteGroup) add_group(a);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], kI32, tile.sums + r * tile.pitch + v * kLanes);
  }
}

template <int kVectors>
void multiply_columns(const ByteTile& tile) {
  constexpr void (*kByRows[])(const ByteTile&) = {
    multiply_rows<1, kVectors>,
    multiply_rows<2, kVectors>,
    multiply_rows<3, kVectors>,
    multiply_rows<4, kVectors>,
#if HWY_TARGET <= HWY_AVX3
    multiply_rows<5, kVectors>,
    multiply_rows<6, kVectors>,
    multiply_rows<7, kVectors>,
    multiply_rows<8, kVectors>,
    multiply_rows<9, kVectors>,
    multiply_rows<10, kVectors>,
    multiply_rows<11, kVectors>,
    multiply_rows<12, kVectors>,
#endif
  };
  kByRows[tile.rows - 1](tile);
}

void multiply(const ByteTile& tile) { return tile.vectors > 1 ? multiply_columns<2>(tile) : multiply_columns<1>(tile); }

// ---- Rows of A

// At least a T of bytes, the last of which may be copied twice.
template <typename T>
HWY_INLINE void copy_words(const uint8_t* from, int64_t count, T flip, uint8_t* to) {
  for (int64_t i = 0; i < count; i += sizeof(T)) {
    const int64_t at = i < count - static_cast<int64_t>(sizeof(T)) ? i : count - static_cast<int64_t>(sizeof(T));
    T word;
    __builtin_memcpy(&word, from + at, sizeof(T));
    word = static_cast<T>(word ^ flip);
    __builtin_memcpy(to + at, &word, sizeof(T));
  }
}
template <typename Tag>
HWY_INLINE void copy_vectors(Tag tag, const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to) {
  constexpr auto kBytes = static_cast<int64_t>(hn::MaxLanes(Tag{}));
  const auto mask = hn::Set(tag, flip);
  int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) hn::StoreU(hn::Xor(hn::LoadU(tag, from + i), mask), tag, to + i);
  if (i == count) return;
  i = count - kBytes;
  hn::StoreU(hn::Xor(hn::LoadU(tag, from + i), mask), tag, to + i);
}

void copy(const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to) {
  const hn::ScalableTag<uint8_t> whole;
  const hn::Full128<uint8_t> small;
  if (count >= static_cast<int64_t>(hn::MaxLanes(whole))) return copy_vectors(whole, from, count, flip, to);
  if (count >= 16) return copy_vectors(small, from, count, flip, to);
  if (count >= 8) return copy_words<uint64_t>(from, count, flip * 0x0101010101010101u, to);
  if (count >= 4) return copy_words<uint32_t>(from, count, flip * 0x01010101u, to);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ flip;
}

void gather(const ByteRows& rows) {
  const auto address = [&](int64_t tap, int r) { return reinterpret_cast<uintptr_t>(rows.from[tap * rows.rows + r]); };
  for (int r = 0; r < rows.rows; ++r) {
    uint8_t* to = rows.to + r * rows.step;
    for (int64_t tap = 0, next; tap < rows.taps; tap = next) {
      // Taps that lie one behind the other, as those of a kernel's row do inside an image, go at once.
      const uintptr_t from = address(tap, r);
      next = tap + 1;
      while (next < rows.taps && address(next, r) == from + static_cast<uintptr_t>((next - tap) * rows.depth)) ++next;
      copy(reinterpret_cast<const uint8_t*>(from), (next - tap) * rows.depth, rows.is_signed ? 0x80 : 0,
           to + tap * rows.depth);
    }
    for (int64_t i = rows.taps * rows.depth; i < rows.padded; ++i) to[i] = 0;
  }
}

// ---- Epilogues

// Writes the first `count` lanes.
struct ToFloats {
  static constexpr bool kScales = true;
  static HWY_INLINE void store(FloatVec x, int count, float* row, int64_t at) {
    if (count == kLanes) return hn::StoreU(x, kF, row + at);
    store_n(x, row + at, count);
  }
};
// Integers in the type's range, or NaN.
template <typename Tag>
HWY_INLINE hn::Vec<Tag> levels_of(Tag tag, FloatVec x) {
#if HWY_TARGET <= HWY_AVX3
  (void)tag;
  return hn::Vec<Tag>{_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x.raw))};
#else
  return hn::DemoteTo(tag, hn::ConvertTo(kI32, x));
#endif
}

template <typename T>
struct ToBytes {
  static constexpr bool kScales = false;
  static HWY_INLINE void store(FloatVec x, int count, float* row, int64_t at) {
    const hn::Rebind<T, FloatTag> tag;
    const auto bytes = levels_of(tag, x);
    T* to = reinterpret_cast<T*>(row) + at;
    if (count == kLanes) return hn::StoreU(bytes, tag, to);
    T lanes[kLanes];
    hn::StoreU(bytes, tag, lanes);
    for (int i = 0; i < count; ++i) to[i] = lanes[i];
  }
};

// `count` of a residual's elements; of all lanes, whole vectors.
template <typename T>
HWY_INLINE FloatVec load_residual(const float* row, int64_t at, int count) {
  const T* from = reinterpret_cast<const T*>(row) + at;
  const hn::Rebind<T, FloatTag> tag;
  if (count == kLanes) return hn::ConvertTo(kF, hn::PromoteTo(kI32, hn::LoadU(tag, from)));
  T lanes[kLanes] = {};
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::ConvertTo(kF, hn::PromoteTo(kI32, hn::LoadU(tag, lanes)));
}
template <>
HWY_INLINE FloatVec load_residual<float>(const float* row, int64_t at, int count) {
  return count == kLanes ? hn::LoadU(kF, row + at) : load_n(row + at, count);
}

// NaN stays NaN: Min and Max give their second operand then.
struct Activation {
  explicit HWY_INLINE Activation(const ByteActivation& f)
      : low(hn::Set(kF, f.low)),
        high(hn::Set(kF, f.high)),
        zero(hn::Set(kF, f.zero)),
        least(hn::Set(kF, bounded(f.low, f))),
        most(hn::Set(kF, bounded(f.high, f))),
        shift(hn::Set(kF, f.shift)),
        rescale(hn::Set(kF, f.rescale)) {}

  static float bounded(float x, const ByteActivation& f) {
    const float low = f.least - f.zero, high = f.most - f.zero;
    const float above = x > low ? x : low;
    return above < high ? above : high;
  }

  HWY_INLINE FloatVec clamped(FloatVec x) const { return hn::Min(high, hn::Max(low, x)); }
  // With both pairs of bounds at once: the second pair is of integers, so it may as well come before rounding.
  HWY_INLINE FloatVec level(FloatVec x) const { return hn::Add(hn::Round(hn::Min(most, hn::Max(least, x))), zero); }
  HWY_INLINE FloatVec rescaled(FloatVec x) const { return hn::Mul(hn::Add(x, shift), rescale); }

  FloatVec low, high, zero, least, most, shift, rescale;
};

// In place of a residual's type: a number for each column.
struct ForColumns {};
template <typename Residual>
constexpr bool kIsForColumns = false;
template <>
constexpr bool kIsForColumns<ForColumns> = true;

// x * clamp(alpha * x + beta)
struct Gate {
  explicit HWY_INLINE Gate(const TileActivation& f)
      : alpha(hn::Set(kF, f.alpha)), beta(hn::Set(kF, f.beta)), low(hn::Set(kF, f.low)), high(hn::Set(kF, f.high)) {}

  HWY_INLINE FloatVec operator()(FloatVec x) const {
    return hn::Mul(x, hn::Min(high, hn::Max(low, hn::Add(hn::Mul(x, alpha), beta))));
  }

  FloatVec alpha, beta, low, high;
};

// A vector of columns at a time, whose parameters then stay in registers. kSecond: 0 none, 1 without rounding, 2 all.
// kGates: with a function that is a gate.
template <typename To, bool kRounds, int kSecond, typename Residual, bool kGates = false>
HWY_INLINE void finish_columns(const ByteFinish& tile) {
  [[maybe_unused]] const Gate gate(tile.end.function);
  const Activation first(tile.end.first), second(tile.end.second);
  const FloatVec residual_shift = hn::Set(kF, tile.end.residual_shift);
  const FloatVec residual_scale = hn::Set(kF, tile.end.residual_scale);
  for (int j = 0; j < tile.columns; j += kLanes) {
    const int count = tile.columns - j < kLanes ? tile.columns - j : kLanes;
    const FloatVec before = hn::LoadU(kF, tile.before + j), scale = hn::LoadU(kF, tile.scale + j);
    const FloatVec after = hn::LoadU(kF, tile.after + j);
    [[maybe_unused]] const FloatVec factor = kGates ? hn::LoadU(kF, tile.factor + j) : after;
    [[maybe_unused]] const FloatVec offset = kGates ? hn::LoadU(kF, tile.offset + j) : after;
    for (int r = 0; r < tile.rows; ++r) {
      const IntVec sum = hn::LoadU(kI32, tile.sums + r * tile.pitch + j);
      FloatVec x = tile.are_floats ? hn::BitCast(kF, sum) : hn::ConvertTo(kF, sum);
      x = hn::Add(hn::Mul(hn::Add(x, before), scale), after);
      if constexpr (kGates) x = hn::Add(hn::Mul(gate(x), factor), offset);
      x = kRounds ? first.level(x) : first.clamped(x);
      if constexpr (kRounds && (kSecond != 0 || To::kScales)) x = first.rescaled(x);
      if constexpr (kSecond != 0) {
        if constexpr (kIsForColumns<Residual>) {
          x = hn::Add(x, hn::LoadU(kF, tile.added + j));
        } else if (tile.residual != nullptr) {
          const FloatVec y = load_residual<Residual>(tile.residual[r], tile.column + j, count);
          x = hn::Add(x, hn::Mul(hn::Add(y, residual_shift), residual_scale));
        }
        x = kSecond == 2 ? second.level(x) : second.clamped(x);
        if constexpr (kSecond == 2 && To::kScales) x = second.rescaled(x);
      }
      To::store(x, count, tile.out[r], tile.column + j);
    }
  }
}

template <typename To, bool kRounds, int kSecond>
void finish_residual(const ByteFinish& tile) {
  if (tile.added != nullptr) return finish_columns<To, kRounds, kSecond, ForColumns>(tile);
  switch (tile.residual_type) {
    case DType::kU8: return finish_columns<To, kRounds, kSecond, uint8_t>(tile);
    case DType::kI8: return finish_columns<To, kRounds, kSecond, int8_t>(tile);
    default: return finish_columns<To, kRounds, kSecond, float>(tile);
  }
}

template <typename To, bool kRounds>
void finish_twice(const ByteFinish& tile) {
  return tile.end.second.rounds ? finish_residual<To, kRounds, 2>(tile) : finish_residual<To, kRounds, 1>(tile);
}

// To bytes the last activation rounds.
template <typename T>
void finish_bytes(const ByteFinish& tile) {
  if (!tile.end.twice) return finish_columns<ToBytes<T>, true, 0, float>(tile);
  return tile.end.first.rounds ? finish_residual<ToBytes<T>, true, 2>(tile)
                               : finish_residual<ToBytes<T>, false, 2>(tile);
}

void finish_floats(const ByteFinish& tile) {
  if (tile.end.twice)
    return tile.end.first.rounds ? finish_twice<ToFloats, true>(tile) : finish_twice<ToFloats, false>(tile);
  return tile.end.first.rounds ? finish_columns<ToFloats, true, 0, float>(tile)
                               : finish_columns<ToFloats, false, 0, float>(tile);
}

void finish_plain(const ByteFinish& tile) {
  switch (tile.type) {
    case DType::kU8: return finish_bytes<uint8_t>(tile);
    case DType::kI8: return finish_bytes<int8_t>(tile);
    default: return finish_floats(tile);
  }
}

// A tile's elements and columns, at most: of depthwise convolutions tiles are as wide on every tier.
constexpr int kTileColumns = 32;
constexpr int kTileBytes = kByteTileRows * kTileColumns;

// Makes table[i] of each byte i.
#if HWY_TARGET <= HWY_AVX3
// A word of the table holds two elements; the permutation picks one of 64 words by an index's low six bits.
class Table {
 public:
  static constexpr int kStep = static_cast<int>(hn::MaxLanes(hn::ScalableTag<uint8_t>{}));

  explicit Table(const uint8_t* table) {
    for (int i = 0; i < 4; ++i) parts_[i] = hn::BitCast(kWords, hn::LoadU(kBytes, table + i * kStep));
  }
  HWY_INLINE void translate(const uint8_t* from, uint8_t* to) const {
    const Words both = hn::BitCast(kWords, hn::LoadU(kBytes, from));
    const Words even = find(hn::And(both, low_)), odd = find(hn::ShiftRight<8>(both));
    hn::StoreU(hn::BitCast(kBytes, hn::Or(even, hn::ShiftLeft<8>(odd))), kBytes, to);
  }

 private:
  static constexpr hn::ScalableTag<uint8_t> kBytes{};
  static constexpr hn::ScalableTag<uint16_t> kWords{};
  using Words = hn::Vec<hn::ScalableTag<uint16_t>>;

  HWY_INLINE Words find(Words index) const {
    const Words at = hn::ShiftRight<1>(index);
    const Words first{_mm512_permutex2var_epi16(parts_[0].raw, at.raw, parts_[1].raw)};
    const Words second{_mm512_permutex2var_epi16(parts_[2].raw, at.raw, parts_[3].raw)};
    const Words both = hn::IfThenElse(hn::TestBit(index, hn::Set(kWords, 128)), second, first);
    return hn::And(hn::Shr(both, hn::ShiftLeft<3>(hn::And(index, hn::Set(kWords, 1)))), low_);
  }

  Words parts_[4];
  const Words low_ = hn::Set(kWords, 0xFF);
};

void translate(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to) {
  const Table vectors(table);
  int64_t i = 0;
  for (; i + Table::kStep <= count; i += Table::kStep) vectors.translate(from + i, to + i);
  if (i == count) return;
  uint8_t rest[Table::kStep];
  const auto left = static_cast<size_t>(count - i);
  __builtin_memcpy(rest, from + i, left);
  vectors.translate(rest, rest);
  __builtin_memcpy(to + i, rest, left);
}
#else
void translate(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}
#endif

// Numbers that are the same for all columns.
class SameNumbers {
 public:
  SameNumbers(float before, float scale, float after) {
    for (int j = 0; j < kTileColumns; ++j) {
      before_[j] = before;
      scale_[j] = scale;
      after_[j] = after;
    }
  }
  void give_to(ByteFinish* tile) const {
    tile->before = before_;
    tile->scale = scale_;
    tile->after = after_;
  }

 private:
  float before_[kTileColumns], scale_[kTileColumns], after_[kTileColumns];
};

template <typename T>
void widen_levels(const uint8_t* levels, const ByteFinish& tile) {
  const hn::Rebind<T, FloatTag> tag;
  for (int r = 0; r < tile.rows; ++r) {
    for (int j = 0; j < tile.columns; j += kLanes) {
      const auto bytes = hn::LoadU(tag, reinterpret_cast<const T*>(levels) + r * tile.pitch + j);
      hn::StoreU(hn::PromoteTo(kI32, bytes), kI32, tile.sums + r * tile.pitch + j);
    }
  }
}

// Where the last activation has a table that makes bytes: the indices are put aside.
template <typename Finish>
void finish_to_table(const ByteFinish& tile, const uint8_t* table, const Finish& finish_indices) {
  alignas(64) uint8_t levels[kTileBytes + 64];
  float* rows[kByteTileRows];
  for (int r = 0; r < tile.rows; ++r) rows[r] = reinterpret_cast<float*>(levels + r * tile.pitch - tile.column);
  ByteFinish part = tile;
  part.type = DType::kU8;
  part.out = rows;
  finish_indices(part);
  translate(table, levels, static_cast<int64_t>(tile.rows) * tile.pitch, levels);
  for (int r = 0; r < tile.rows; ++r) {
    __builtin_memcpy(reinterpret_cast<uint8_t*>(tile.out[r]) + tile.column, levels + r * tile.pitch,
                     static_cast<size_t>(tile.columns));
  }
}

void finish_second(const ByteFinish& tile) {
  if (tile.tables[1] == nullptr) return finish_plain(tile);
  finish_to_table(tile, tile.tables[1], finish_plain);
}

// The indices are put aside, and what the table makes of them is either what is stored or goes on as sums do.
void finish_by_table(const ByteFinish& tile) {
  alignas(64) uint8_t levels[kTileBytes + 64];
  float* rows[kByteTileRows];
  for (int r = 0; r < tile.rows; ++r) rows[r] = reinterpret_cast<float*>(levels + r * tile.pitch);
  ByteFinish part = tile;
  part.residual = nullptr;
  part.column = 0;
  part.end.twice = false;
  part.type = DType::kU8;
  part.out = rows;
  finish_bytes<uint8_t>(part);
  translate(tile.tables[0], levels, static_cast<int64_t>(tile.rows) * tile.pitch, levels);
  if (!tile.end.twice && tile.type != DType::kF32) {
    for (int r = 0; r < tile.rows; ++r) {
      __builtin_memcpy(reinterpret_cast<uint8_t*>(tile.out[r]) + tile.column, levels + r * tile.pitch,
                       static_cast<size_t>(tile.columns));
    }
    return;
  }
  if (tile.end.table_types[0] == DType::kU8) {
    widen_levels<uint8_t>(levels, tile);
  } else {
    widen_levels<int8_t>(levels, tile);
  }
  const SameNumbers numbers(tile.end.first.shift, tile.end.first.rescale, -0.0f);
  part = tile;
  numbers.give_to(&part);
  part.are_floats = false;
  part.end.first = {};
  finish_second(part);
}

void finish_straight(const ByteFinish& tile) {
  return tile.tables[0] == nullptr ? finish_second(tile) : finish_by_table(tile);
}

// Makes floats of the sums, and the function of those, which tiles of floats have but for gates.
void apply_function(const ByteFinish& tile) {
  const TileActivation& function = tile.end.function;
  float* rows[kByteTileRows];
  for (int r = 0; r < tile.rows; ++r) rows[r] = reinterpret_cast<float*>(tile.sums + r * tile.pitch);
  ByteFinish part = tile;
  part.end.first = {};
  part.out = rows;
  part.column = 0;
  if (function.function == TileFunction::kHardSwish) return finish_columns<ToFloats, false, 0, float, true>(part);
  finish_columns<ToFloats, false, 0, float>(part);
  gemm_tier.finish[static_cast<int>(function.function)]({.sums = rows[0],
                                                         .pitch = tile.pitch,
                                                         .rows = tile.rows,
                                                         .columns = tile.columns,
                                                         .out = rows,
                                                         .column = 0,
                                                         .bias = nullptr,
                                                         .residual = nullptr,
                                                         .activation = function});
}

void finish(const ByteFinish& tile) {
  const TileFunction function = tile.end.function.function;
  if (function == TileFunction::kIdentity) return finish_straight(tile);
  const bool is_gate = function == TileFunction::kHardSwish;
  // What mobile networks have most of is done in one go.
  if (is_gate && !tile.end.twice && tile.tables[0] == nullptr && tile.end.first.rounds && tile.type == DType::kU8) {
    return finish_columns<ToBytes<uint8_t>, true, 0, float, true>(tile);
  }
  apply_function(tile);
  const SameNumbers numbers(-0.0f, 1.0f, -0.0f);
  ByteFinish rest = tile;
  numbers.give_to(&rest);
  if (!is_gate) {
    rest.scale = tile.factor;
    rest.after = tile.offset;
  }
  rest.are_floats = true;
  finish_straight(rest);
}

void widen_sums(int32_t* sums, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::ConvertTo(kF, hn::LoadU(kI32, sums + i)), kF, reinterpret_cast<float*>(sums + i));
  }
}

void widen(DType type, const void* from, int64_t count, float* to) { widen_strip(type, from, 1, count, to); }
void narrow_floats(DType type, const float* from, int64_t count, void* to) { narrow_strip(type, from, count, to, 1); }

}  // namespace

const ByteSupport byte_support = {gather, finish, widen_sums, widen, narrow_floats, translate};
const ByteTier byte_tier = {multiply, &byte_support};

}  // namespace planwright::PW_TIER_NAMESPACE
