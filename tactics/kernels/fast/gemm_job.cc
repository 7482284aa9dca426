#include "tactics/kernels/fast/gemm_job.h"

#include <string.h>

#include "schemas/types/checked.h"
#include "schemas/types/half.h"

namespace planwright::fast {
namespace {

// Of the row pointers a task makes at a time; they share L1 with a tile of A and the panel that streams by.
constexpr size_t kPointerBytes = 8192;
// Loads fewer than this many panels' bytes again and again from L2 (half of the smallest L2 there is with each tier's
// registers), larger weights are dealt out in groups of panels.
constexpr int64_t kPanelBytes = 512 * 1024;
// The part of A that a task walks once for every panel.
constexpr int64_t kRowBytes = 256 * 1024;
// Of the rows of A that are copied at a time: they stay in L2 beside a matrix B of as much.
constexpr size_t kCopiedBytes = 256 * 1024;
// Enough tasks to level out 8 workers, as long as each is worth the microsecond it costs to start one elsewhere:
// 2 MFLOP are 12 us at the 170 GFLOP/s of one AVX-512 core.
constexpr int64_t kEnoughTasks = 32;
constexpr int64_t kTaskFlops = 2000000;

int64_t ceil_div(int64_t a, int64_t b) { return a == 0 ? 0 : (a - 1) / b + 1; }

// Of a tile put aside, and of a panel's numbers for each column: the last one's bias, or all that bytes have.
size_t sums_size(const GemmShape& shape) {
  const int numbers = shape.bytes != nullptr ? 6 : 1;
  return align_up(static_cast<size_t>((shape.rows + numbers) * shape.vectors * shape.tier->lanes) * sizeof(float), 64);
}

// Bytes of an element of A in rows that are copied; 0: none are.
int64_t copied_bytes(const GemmShape& shape) {
  return shape.half != nullptr ? int64_t{sizeof(uint16_t)} : shape.bytes != nullptr ? 1 : 0;
}

// Of K in rows that are copied.
int64_t padded_depth(const GemmShape& shape, int64_t depth) {
  const int64_t step = shape.half != nullptr ? kHalfStep : kByteGroup;
  return ceil_div(depth, step) * step;
}

// Pointers to A that a row of a tile has room for: the copy of a row without taps has an address too.
int64_t pointers_to_a(int64_t taps) { return taps > 1 ? taps : 1; }

size_t pointers_per_tile(const GemmShape& shape, int64_t taps, int operands) {
  return static_cast<size_t>(shape.rows) * static_cast<size_t>(pointers_to_a(taps) + 1 + operands);
}

// Bytes from a row of A that is copied to the next. An odd number of lines: rows an even number apart share few sets of
// L1.
int64_t copied_step(const GemmShape& shape, int64_t taps, int64_t depth) {
  constexpr int64_t kLine = 64;
  const int64_t lines = ceil_div(padded_depth(shape, taps * depth) * copied_bytes(shape), kLine);
  return (lines % 2 == 0 ? lines + 1 : lines) * kLine;
}

// Rows that are cut from others only together.
int64_t granule_of(const GemmShape& shape) { return shape.half == nullptr ? 1 : shape.half->granule; }

// Of rows of operands widened for a tile.
size_t widened_size(const GemmShape& shape, int operands) {
  if (copied_bytes(shape) == 0) return 0;
  return static_cast<size_t>(operands * shape.rows * shape.vectors * shape.tier->lanes) * sizeof(float);
}

size_t copied_tile_bytes(const GemmShape& shape, int64_t taps, int64_t depth) {
  return static_cast<size_t>(shape.rows) * static_cast<size_t>(copied_step(shape, taps, depth));
}

// Of the rows of A that are copied.
size_t copies_size(const GemmShape& shape, int64_t taps, int64_t depth) {
  if (copied_bytes(shape) == 0) return 0;
  const size_t tile = copied_tile_bytes(shape, taps, depth);
  return align_up(tile > kCopiedBytes ? tile : kCopiedBytes, 64);
}

// Tiles whose pointers, and whose copied rows of A, are made at a time.
int64_t tiles_at_once(const GemmShape& shape, int64_t taps, int64_t depth, int operands) {
  size_t tiles = kPointerBytes / sizeof(void*) / pointers_per_tile(shape, taps, operands);
  if (copied_bytes(shape) != 0) {
    const size_t fit = kCopiedBytes / copied_tile_bytes(shape, taps, depth);
    tiles = fit < tiles ? fit : tiles;
  }
  return tiles > 1 ? static_cast<int64_t>(tiles) : 1;
}

size_t pointer_bytes(const GemmShape& shape, int64_t taps, int operands) {
  const size_t one = pointers_per_tile(shape, taps, operands) * sizeof(void*);
  return align_up(one > kPointerBytes ? one : kPointerBytes, 64);
}

// As read_ahead (gemm_tile.h): has the tile bring in its share of the next panel, of `vectors` vectors. A step of K is
// 16 lines a vector, and of these at most 16 in the 64 cycles of its products: more than memory gives.
void read_ahead_half(const float* next, int vectors, int64_t index, int64_t tiles, HalfTile* tile) {
  const int64_t step_lines = 16 * vectors, steps = tile->taps * tile->depth / kHalfStep;
  const int64_t least = ceil_div(step_lines, 16), shares = tiles < least ? tiles : least;
  if (steps * step_lines * 64 > kMostReadAhead || index >= shares) return;
  tile->ahead_lines = step_lines / shares < 16 ? step_lines / shares : 16;
  tile->ahead = reinterpret_cast<const char*>(next) + index * steps * tile->ahead_lines * 64;
}

int64_t element_bytes(DType type) { return static_cast<int64_t>(size_of(type)); }

int64_t offset_of(const RowBox& box, const int64_t* at, const int64_t* strides) {
  int64_t offset = 0;
  for (int axis = 0; axis < box.rank; ++axis) offset += (box.start[axis] + at[axis] * box.step[axis]) * strides[axis];
  return offset;
}

// The rows of a job's tiles: cut as evenly as granules allow, the first tiles having one more than the others.
class TileRows {
 public:
  explicit TileRows(const GemmJob& job)
      : rows_(job.rows.count()), count_(row_tiles(rows_, job.shape.rows)), granule_(granule_of(job.shape)) {
    if (count_ == 0) return;
    const int64_t granules = ceil_div(rows_, granule_);
    height_ = granules / count_;
    taller_ = granules % count_;
  }

  int64_t count() const { return count_; }
  int64_t first_row(int64_t tile) const {
    const int64_t row = (tile * height_ + (tile < taller_ ? tile : taller_)) * granule_;
    return row < rows_ ? row : rows_;
  }
  int rows(int64_t tile) const { return static_cast<int>(first_row(tile + 1) - first_row(tile)); }

 private:
  int64_t rows_, count_, granule_;
  int64_t height_ = 0, taller_ = 0;
};

// A tile of the output: its rows' pointers and where its sums may be put aside.
class TileRunner {
 public:
  TileRunner(const GemmJob& job, std::byte* scratch)
      : job_(job), epilogue_(*job.epilogue), sums_(reinterpret_cast<float*>(scratch)) {
    registers_ = reinterpret_cast<float*>(scratch + sums_size(job.shape));
    // Of an image no rows are copied.
    at_once_ =
        tiles_at_once(job.shape, job.taps, job.image == nullptr ? job.depth : kHalfStep, epilogue_.operand_count);
    a_ = reinterpret_cast<const float**>(scratch + sums_size(job.shape) + kStripRegisterBytes);
    outputs_ = a_ + at_once_ * pointers_to_a(job.taps) * job.shape.rows;
    copies_ = reinterpret_cast<std::byte*>(a_) + pointer_bytes(job.shape, job.taps, epilogue_.operand_count);
    copied_step_ = copied_step(job.shape, job.taps, job.depth);
    widened_ = reinterpret_cast<float*>(copies_ + copies_size(job.shape, job.taps, job.depth));
    // Operands that are the same in every row.
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      shared_[i] = operand.by_row ? nullptr : origin(i);
    }
    if (epilogue_.bias < 0 || is_narrow(epilogue_.bias) || job.panels.count() == 0) return;
    // Whole vectors are loaded, so what is read past the last column must be there. (A masked load would do, but takes
    // 150 ns where the next page is not mapped.)
    const int64_t last = job.panels.count() - 1;
    last_bias_ = whole_vectors(job.panels, last, shared_[epilogue_.bias], room_of_numbers(0));
  }

  // Tiles that are prepared together.
  int64_t at_once() const { return at_once_; }

  // Makes the pointers of tiles [begin, end), at most at_once(), whose rows follow the cursor's; moves it behind them.
  // Of the output, its operands and a row with one tap, those of all tiles are one walk.
  void prepare(const TileRows& tiles, int64_t begin, int64_t end, RowCursor* cursor) {
    begin_ = begin;
    first_row_ = tiles.first_row(begin);
    const int rows = static_cast<int>(tiles.first_row(end) - first_row_);
    row_addresses(*cursor, rows, job_.out, element_bytes(job_.out_type), job_.out_strides, outputs_);
    send_nowhere(first_row_, rows, job_.image == nullptr ? nullptr : job_.image->nowhere, outputs_);
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      if (!operand.by_row) continue;
      const float** to = outputs_ + (i + 1) * operand_step();
      row_addresses(*cursor, rows, operand.data, element_bytes(operand.type), operand.strides, to);
      send_nowhere(first_row_, rows, origin(i), to);
    }
    const bool one_walk = job_.image == nullptr && job_.taps == 1;
    if (one_walk) job_.row_pointers(job_.context, *cursor, rows, a_);
    for (int64_t tile = begin; tile < end && (!one_walk || copied_bytes(job_.shape) != 0); ++tile) {
      const int64_t first = tiles.first_row(tile);
      const float** at = a_of(tile, first);
      if (job_.image != nullptr) {
        at[0] = reinterpret_cast<const float*>(job_.image->data + first * job_.image->step * copied_bytes(job_.shape));
        continue;
      }
      if (!one_walk) {
        job_.row_pointers(job_.context, *cursor, tiles.rows(tile), at);
        cursor->skip(tiles.rows(tile));
      }
      if (copied_bytes(job_.shape) != 0) copy_rows(tile - begin, tiles.rows(tile), at);
    }
    if (one_walk || job_.image != nullptr) cursor->skip(rows);
  }

  // Makes what the tiles of a panel share.
  void begin_panel(int64_t panel) {
    if (job_.make_panel != nullptr) job_.make_panel(job_.context, panel, job_.room);
  }

  // Computes a prepared tile, one of `tiles`, from row `first` on; `next_panel` comes after them.
  void run(int64_t index, int64_t first, int rows, int64_t panel, int64_t next_panel, int64_t tiles) {
    const PanelPlan& panels = job_.panels;
    const GemmTier& tier = *job_.shape.tier;
    const int vectors = panels.vectors(panel), columns = panels.columns(panel);
    const int pitch = vectors * tier.lanes;
    const int64_t column = panels.column(panel);
    const float* const* pointers = a_of(begin_ + index, first);
    const float* const* outputs = outputs_ + (first - first_row_);

    float* const* out = const_cast<float* const*>(outputs);
    const bool whole = columns == pitch;
    const float* bias = epilogue_.bias < 0 ? nullptr : whole ? shared_[epilogue_.bias] + column : last_bias_;
    const EpilogueTile finish = {.sums = sums_,
                                 .pitch = pitch,
                                 .rows = rows,
                                 .columns = columns,
                                 .out = out,
                                 .column = column,
                                 .operand_rows = outputs + operand_step(),
                                 .operand_step = operand_step(),
                                 .shared = shared_,
                                 .bias = bias};
    if (job_.shape.half != nullptr) {
      const int64_t depth = packed_depth(job_.shape, job_.taps * job_.depth);
      const uint16_t* a = halves_at(pointers[0]);
      const ImageRows* image = job_.image;
      const int64_t taps = image == nullptr ? 1 : image->taps;
      HalfTile half = {.a = a,
                       .a_step = image != nullptr ? image->step
                                 : rows > 1       ? halves_at(pointers[1]) - a
                                                  : copied_step_ / static_cast<int64_t>(sizeof(uint16_t)),
                       .offsets = image == nullptr ? &kNoOffset : image->offsets,
                       .taps = taps,
                       .panel = reinterpret_cast<const uint16_t*>(job_.packed + depth * column),
                       .depth = 2 * depth / taps,
                       .rows = rows,
                       .vectors = vectors,
                       .sums = sums_,
                       .pitch = pitch,
                       .ahead = nullptr,
                       .ahead_lines = 0};
      if (next_panel < panels.count()) {
        read_ahead_half(job_.packed + depth * panels.column(next_panel), panels.vectors(next_panel), index, tiles,
                        &half);
      }
      job_.shape.half->multiply(half);
      return finish_half_tile(finish);
    }
    if (job_.shape.bytes != nullptr) {
      const int64_t depth = packed_depth(job_.shape, job_.taps * job_.depth);
      const uint8_t* a = bytes_at(pointers[0]);
      const ImageRows* image = job_.image;
      const int64_t taps = image == nullptr ? 1 : image->taps;
      ByteTile bytes = {.a = a,
                        .a_step = image != nullptr ? image->step
                                  : rows > 1       ? bytes_at(pointers[1]) - a
                                                   : 0,
                        .offsets = image == nullptr ? &kNoOffset : image->offsets,
                        .taps = taps,
                        .panel = job_.packed + depth * column,
                        .groups = (depth - 1) / taps,
                        .rows = rows,
                        .vectors = vectors,
                        .offset = job_.a_zero + (job_.a_type == DType::kI8 ? 128 : 0),
                        .sums = reinterpret_cast<int32_t*>(sums_),
                        .pitch = pitch,
                        .ahead = &kNothingAhead,
                        .ahead_step = 0};
      if (next_panel < panels.count()) {
        read_ahead(job_.packed + depth * panels.column(next_panel), depth,
                   panels.vectors(next_panel) * tier.lanes * static_cast<int64_t>(sizeof(float)), index, tiles, &bytes);
      }
      job_.shape.bytes->multiply(bytes);
      return finish_byte_tile(finish, panel);
    }

    if (job_.multiply != nullptr) {
      job_.multiply(job_.context, panel, pointers, rows, sums_, pitch);
      return finish_tile(epilogue_, tier, finish, registers_);
    }

    GemmTile tile;
    tile.rows = pointers;
    tile.taps = job_.taps;
    tile.depth = job_.depth;
    const bool in_place = job_.unpacked != nullptr && columns == pitch;
    tile.panel = in_place                     ? job_.unpacked + column
                 : job_.make_panel != nullptr ? job_.room
                                              : job_.packed + job_.taps * job_.depth * column;
    tile.panel_step = in_place ? job_.unpacked_step : pitch;
    if (next_panel < panels.count() && job_.unpacked == nullptr && job_.make_panel == nullptr) {
      const int64_t rows_of_panel = job_.taps * job_.depth;
      read_ahead(job_.packed + rows_of_panel * panels.column(next_panel), rows_of_panel,
                 panels.vectors(next_panel) * tier.lanes * static_cast<int64_t>(sizeof(float)), index, tiles, &tile);
    }
    const float* const* residual =
        epilogue_.residual < 0 ? nullptr : outputs + (epilogue_.residual + 1) * operand_step();
    if (epilogue_.in_registers && (whole || tier.masks_tails)) {
      tile.out = out;
      tile.column = column;
      tile.valid = tier.lanes - (pitch - columns);
      tile.bias = bias;
      tile.residual = residual;
      tile.activation = epilogue_.activation;
      tier.kernels[rows][vectors](tile);
      return;
    }

    float* sums[kMaxTileRows];
    for (int r = 0; r < rows; ++r) sums[r] = sums_ + r * pitch;
    tile.out = sums;
    tile.column = 0;
    tile.valid = tier.lanes;
    tile.bias = nullptr;
    tile.residual = nullptr;
    tier.kernels[rows][vectors](tile);
    finish_tile(epilogue_, tier, finish, registers_);
  }

 private:
  static constexpr int64_t kNoOffset = 0;

  // Pointers to rows of A, [taps][rows] of each tile; where a row has one, those of all tiles one after another.
  const float** a_of(int64_t tile, int64_t first) const {
    return a_ + (job_.taps == 1 ? first - first_row_ : (tile - begin_) * pointers_to_a(job_.taps) * job_.shape.rows);
  }
  // Pointers from one operand's to the next's.
  int64_t operand_step() const { return at_once_ * job_.shape.rows; }

  // Whether it is in memory as something narrower or other than fp32.
  bool is_narrow(int operand) const { return epilogue_.operands[operand].type != DType::kF32; }

  float* room_of_numbers(int index) const {
    return sums_ + (job_.shape.rows + index) * job_.shape.vectors * job_.shape.tier->lanes;
  }

  // Where the operand begins: an address that may be read.
  const float* origin(int operand) const {
    const int64_t first[kMaxRank] = {};
    const EpilogueOperand& of = epilogue_.operands[operand];
    const int64_t offset = offset_of(job_.rows, first, of.strides) * element_bytes(of.type);
    return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(of.data) + offset);
  }

  // Of rows of an image that are not in the output.
  void send_nowhere(int64_t first, int rows, const float* address, const float** at) const {
    if (job_.image == nullptr) return;
    for (int r = 0; r < rows; ++r) {
      if ((first + r) % job_.image->width >= job_.image->valid) at[r] = address;
    }
  }

  static const uint16_t* halves_at(const float* address) { return reinterpret_cast<const uint16_t*>(address); }
  static const uint8_t* bytes_at(const float* address) { return reinterpret_cast<const uint8_t*>(address); }

  // Makes A, which `pointers` ([taps][rows]) lead to, rows of bf16 or bytes evenly apart with K padded by zeros;
  // pointers[0] and [1] are the first two of them then.
  void copy_rows(int64_t slot, int rows, const float** pointers) {
    const int64_t k = job_.taps * job_.depth, padded = padded_depth(job_.shape, k);
    const bool is_half = job_.shape.half != nullptr;
    const bool as_read = job_.a_type == (is_half ? DType::kBF16 : DType::kU8);
    if (as_read && job_.taps == 1 && k == padded && are_even_rows(rows, pointers)) return;
    std::byte* const first = copies_ + slot * job_.shape.rows * copied_step_;
    if (is_half) {
      job_.shape.half->gather({.from = pointers,
                               .half = as_read,
                               .rows = rows,
                               .taps = job_.taps,
                               .depth = job_.depth,
                               .to = reinterpret_cast<uint16_t*>(first),
                               .step = copied_step_ / static_cast<int64_t>(sizeof(uint16_t)),
                               .padded = padded});
    } else {
      job_.shape.bytes->support->gather({.from = pointers,
                                         .is_signed = !as_read,
                                         .rows = rows,
                                         .taps = job_.taps,
                                         .depth = job_.depth,
                                         .to = reinterpret_cast<uint8_t*>(first),
                                         .step = copied_step_,
                                         .padded = padded});
    }
    pointers[0] = reinterpret_cast<const float*>(first);
    if (rows > 1) pointers[1] = reinterpret_cast<const float*>(first + copied_step_);
  }

  // Whether a tile can read the rows where they lie.
  bool are_even_rows(int rows, const float* const* pointers) const {
    if (rows % granule_of(job_.shape) != 0) return false;
    const int64_t step = rows > 1 ? bytes_at(pointers[1]) - bytes_at(pointers[0]) : 0;
    for (int r = 2; r < rows; ++r) {
      if (bytes_at(pointers[r]) - bytes_at(pointers[r - 1]) != step) return false;
    }
    return true;
  }

  // As finish_tile, with what is bf16 widened before and narrowed after, a tile's at a time.
  void finish_half_tile(EpilogueTile tile) {
    const HalfTier& half = *job_.shape.half;
    if (epilogue_.in_registers && (epilogue_.bias < 0 || !is_narrow(epilogue_.bias))) {
      const int residual = epilogue_.residual;
      return half.finish({.sums = tile.sums,
                          .pitch = tile.pitch,
                          .rows = tile.rows,
                          .columns = tile.columns,
                          .column = tile.column,
                          .bias = tile.bias,
                          .residual = residual < 0 ? nullptr : tile.operand_rows + residual * tile.operand_step,
                          .half_residual = residual >= 0 && is_narrow(residual),
                          .half_out = job_.out_type != DType::kF32,
                          .out = tile.out,
                          .activation = epilogue_.activation});
    }
    const auto widen = [&](DType, const void* from, int64_t count, float* to) {
      half.widen(static_cast<const uint16_t*>(from), count, to);
    };
    const auto narrow = [&](const float* from, int64_t count, void* to) {
      half.narrow(from, count, static_cast<uint16_t*>(to));
    };
    finish_widened(tile, widen, narrow);
  }

  // `numbers` of the columns of a panel, readable to the next whole vector.
  const float* numbers_of(const ColumnNumber& numbers, int64_t panel, int64_t column, float* room) const {
    const bool is_one = numbers.operand < 0 || epilogue_.operands[numbers.operand].strides[epilogue_.column_axis] == 0;
    if (!is_one) return whole_vectors(job_.panels, panel, shared_[numbers.operand], room);
    const float number = numbers.operand < 0 ? numbers.constant : *shared_[numbers.operand];
    const int64_t width = job_.panels.column(panel + 1) - column;
    for (int64_t j = 0; j < width; ++j) room[j] = number;
    return room;
  }

  // What follows sums of int32.
  void finish_byte_tile(const EpilogueTile& tile, int64_t panel) {
    const ByteSupport& support = *job_.shape.bytes->support;
    const ByteEpilogue& bytes = epilogue_.bytes;
    auto* sums = reinterpret_cast<int32_t*>(sums_);
    switch (bytes.kind) {
      case ByteEpilogue::Kind::kRaw:
        for (int r = 0; r < tile.rows; ++r) {
          memcpy(tile.out[r] + tile.column, sums + r * tile.pitch, static_cast<size_t>(tile.columns) * sizeof(int32_t));
        }
        return;
      case ByteEpilogue::Kind::kStraight:
        if (panel != numbers_panel_) {
          const ColumnNumber* const numbers[] = {&bytes.before, &bytes.scale,  &bytes.after,
                                                 &bytes.added,  &bytes.factor, &bytes.offset};
          const bool is_function = bytes.end.function.function != TileFunction::kIdentity;
          for (int i = 0; i < 6; ++i) {
            const bool is_read = i < 3 || (i == 3 ? bytes.added.operand >= 0 : is_function);
            numbers_[i] = is_read ? numbers_of(*numbers[i], panel, tile.column, room_of_numbers(i)) : nullptr;
          }
          numbers_panel_ = panel;
        }
        return support.finish(
            {.sums = sums,
             .pitch = tile.pitch,
             .rows = tile.rows,
             .columns = tile.columns,
             .column = tile.column,
             .before = numbers_[0],
             .scale = numbers_[1],
             .after = numbers_[2],
             .factor = numbers_[4],
             .offset = numbers_[5],
             .residual = bytes.residual < 0 ? nullptr : tile.operand_rows + bytes.residual * tile.operand_step,
             .residual_type = bytes.residual < 0 ? DType::kF32 : epilogue_.operands[bytes.residual].type,
             .added = numbers_[3],
             .tables = {bytes.table(0), bytes.table(1)},
             .end = bytes.end,
             .are_floats = false,
             .type = job_.out_type,
             .out = tile.out});
      case ByteEpilogue::Kind::kInterpreted: break;
    }
    support.widen_sums(sums, static_cast<int64_t>(tile.rows) * tile.pitch);
    finish_widened(tile, support.widen,
                   [&](const float* from, int64_t count, void* to) { support.narrow(job_.out_type, from, count, to); });
  }

  // As finish_tile, with operands that are not fp32 widened before and such an output narrowed after.
  template <typename Widen, typename Narrow>
  void finish_widened(EpilogueTile tile, const Widen& widen, const Narrow& narrow) {
    // Addresses are those of the tile's first column then, for what was widened has no others.
    float* out[kHalfTileRows];
    const float* operand_rows[kMaxPwOperands * kHalfTileRows];
    const float* shared[kMaxPwOperands];
    const bool is_narrowed = job_.out_type != DType::kF32;
    for (int r = 0; r < tile.rows; ++r) out[r] = is_narrowed ? sums_ + r * tile.pitch : tile.out[r] + tile.column;
    for (int i = 0; i < epilogue_.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue_.operands[i];
      const int64_t stride = operand.strides[epilogue_.column_axis], offset = tile.column * stride;
      const float* const* from = operand.by_row ? tile.operand_rows + i * tile.operand_step : &shared_[i];
      const float** to = operand.by_row ? operand_rows + i * tile.rows : &shared[i];
      float* widened = widened_ + i * job_.shape.rows * tile.pitch;
      for (int r = 0; r < (operand.by_row ? tile.rows : 1); ++r, widened += tile.pitch) {
        to[r] = is_narrow(i) ? widened : from[r] + offset;
        if (!is_narrow(i)) continue;
        const auto* first = reinterpret_cast<const std::byte*>(from[r]) + offset * element_bytes(operand.type);
        widen(operand.type, first, stride == 0 ? 1 : tile.columns, widened);
      }
      if (i == epilogue_.bias && is_narrow(i)) tile.bias = shared[i];
    }
    float* const* narrow_out = tile.out;
    const int64_t column = tile.column;
    tile.out = out;
    tile.column = 0;
    tile.operand_rows = operand_rows;
    tile.operand_step = tile.rows;
    tile.shared = shared;
    finish_tile(epilogue_, *job_.shape.tier, tile, registers_);
    if (!is_narrowed) return;
    for (int r = 0; r < tile.rows; ++r) {
      auto* to = reinterpret_cast<std::byte*>(narrow_out[r]) + column * element_bytes(job_.out_type);
      narrow(out[r], tile.columns, to);
    }
  }

  const GemmJob& job_;
  const Epilogue& epilogue_;
  float* sums_;
  float* registers_;
  int64_t at_once_;
  int64_t begin_ = 0, first_row_ = 0;  // of the tiles that are prepared
  const float** a_;
  const float** outputs_;  // [operand_step()], and as many of each operand
  std::byte* copies_;      // of rows of A: [tiles][rows][copied_step_]
  int64_t copied_step_;
  float* widened_;  // of operands that are not fp32: [operands][rows][pitch]
  const float* shared_[kMaxPwOperands];
  const float* last_bias_ = nullptr;  // of the last panel
  const float* numbers_[6] = {};      // of sums of bytes: those of the panel that was last run
  int64_t numbers_panel_ = -1;
};

}  // namespace

int64_t RowBox::count() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= dims[axis];
  return count;
}

RowBox row_box(const TensorView& output, int column_axis, int64_t first_column) {
  RowBox box;
  box.rank = output.rank;
  for (int axis = 0; axis < output.rank; ++axis) {
    box.dims[axis] = axis == column_axis ? 1 : output.dims[axis];
    box.start[axis] = axis == column_axis ? first_column : 0;
    box.step[axis] = 1;
  }
  return box;
}

void row_addresses(RowCursor cursor, int count, const void* base, int64_t element_bytes, const int64_t* strides,
                   const float** to) {
  const RowBox& box = cursor.box();
  cursor.for_each_run(count, [&](const int64_t* at, int axis, int64_t length) {
    const std::byte* start = static_cast<const std::byte*>(base) + offset_of(box, at, strides) * element_bytes;
    // An axis of one row may have any stride, and is not walked.
    const int64_t stride = length == 1 ? 0 : box.step[axis] * strides[axis] * element_bytes;
    for (int64_t i = 0; i < length; ++i) *to++ = reinterpret_cast<const float*>(start + i * stride);
  });
}

int32_t zero_point_of(const KernelArgs& args) {
  if (args.core_inputs < 3 || args.inputs[2].absent) return 0;
  return args.inputs[2].dtype == DType::kU8 ? *args.inputs[2].as<const uint8_t>() : *args.inputs[2].as<const int8_t>();
}

int64_t row_tiles(int64_t rows, int tile_rows) { return ceil_div(rows, tile_rows); }

size_t gemm_scratch_size(const GemmShape& shape, int64_t taps, int64_t depth, int operands) {
  return sums_size(shape) + kStripRegisterBytes + pointer_bytes(shape, taps, operands) +
         copies_size(shape, taps, depth) + widened_size(shape, operands);
}

int64_t packed_depth(const GemmShape& shape, int64_t depth) {
  if (shape.bytes != nullptr) return padded_depth(shape, depth) / kByteGroup + 1;
  return shape.half == nullptr ? depth : padded_depth(shape, depth) / 2;
}

namespace {

// Rows [row, row + count) of a B whose element [k][j] is value(k, j).
template <typename Value>
void pack_halves(const GemmShape& shape, const PanelPlan& panels, int64_t depth, int64_t row, int64_t count,
                 const Value& value, float* packed) {
  const int64_t pairs = packed_depth(shape, depth);
  // The last rows bring the padding with them.
  const int64_t end = row + count == depth ? 2 * pairs : row + count;
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    const int64_t column = panels.column(panel), width = panels.column(panel + 1) - column;
    auto* to = reinterpret_cast<uint16_t*>(packed + pairs * column);
    for (int64_t k = row; k < end; ++k) {
      for (int64_t j = 0; j < width; ++j) {
        const bool real = k < depth && j < panels.columns(panel);
        to[(k / 2 * width + j) * 2 + k % 2] = bf16_of_float(real ? value(k, column + j) : 0.0f);
      }
    }
  }
}

}  // namespace

void pack_gemm_rows(const GemmShape& shape, const PanelPlan& panels, int64_t depth, int64_t row, int64_t count,
                    const float* from, int64_t row_stride, int64_t column_stride, float* packed) {
  if (shape.half == nullptr) return pack_rows(panels, depth, row, count, from, row_stride, column_stride, packed);
  const auto value = [&](int64_t k, int64_t column) { return from[(k - row) * row_stride + column * column_stride]; };
  pack_halves(shape, panels, depth, row, count, value, packed);
}

void pack_half_values(const GemmShape& shape, const PanelPlan& panels, int64_t depth,
                      float (*value)(const void* context, int64_t k, int64_t column), const void* context,
                      float* packed) {
  const auto of_context = [&](int64_t k, int64_t column) { return value(context, k, column); };
  pack_halves(shape, panels, depth, 0, depth, of_context, packed);
}

void pack_byte_values(const GemmShape& shape, const PanelPlan& panels, int64_t depth,
                      int8_t (*value)(const void* context, int64_t k, int64_t column), const void* context,
                      float* packed) {
  const int64_t padded = padded_depth(shape, depth);
  for (int64_t panel = 0; panel < panels.count(); ++panel) {
    const int64_t column = panels.column(panel), width = panels.column(panel + 1) - column;
    auto* sums = reinterpret_cast<int32_t*>(packed + packed_depth(shape, depth) * column);
    auto* to = reinterpret_cast<int8_t*>(sums + width);
    for (int64_t j = 0; j < width; ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < padded; ++k) {
        const bool real = k < depth && j < panels.columns(panel);
        const int8_t element = real ? value(context, k, column + j) : int8_t{0};
        to[(k / kByteGroup * width + j) * kByteGroup + k % kByteGroup] = element;
        sum += element;
      }
      sums[j] = sum;
    }
  }
}

Status validate_byte_depth(const GemmShape& shape, int64_t depth) {
  if (shape.bytes == nullptr || depth <= kMostByteDepth) return kOkStatus;
  return error(StatusCode::kUnsupported, "sums of %ld products, the kernel's are of at most %ld", depth,
               kMostByteDepth);
}

Status validate_split(const TacticParams& tactic) {
  if (tactic.v[0] >= 0 && tactic.v[1] >= 0) return kOkStatus;
  return error(StatusCode::kInvalid, "tactic of %d row tiles and %d panels a task", tactic.v[0], tactic.v[1]);
}

Status validate_matrix_rows(const TensorView& a, const TensorView& y) {
  if (a.dims[a.rank - 1] > 1 && a.strides[a.rank - 1] != 1) {
    return error(StatusCode::kUnsupported, "the rows of A are not contiguous, their elements are %ld apart",
                 a.strides[a.rank - 1]);
  }
  if (y.dims[y.rank - 1] > 1 && y.strides[y.rank - 1] != 1) {
    return error(StatusCode::kUnsupported, "the output's rows are not contiguous, their elements are %ld apart",
                 y.strides[y.rank - 1]);
  }
  return kOkStatus;
}

GemmSplit split_gemm(const GemmShape& shape, int64_t rows, const PanelPlan& panels, int64_t depth, int64_t jobs,
                     const TacticParams& tactic) {
  GemmSplit split = {1, 1, 0, 0};
  const int64_t tiles = row_tiles(rows, shape.rows);
  if (tiles == 0 || panels.count() == 0 || jobs == 0) return split;

  // In double: an estimate needs no exactness, and cannot overflow there.
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(panels.padded_columns()) *
                       static_cast<double>(depth > 0 ? depth : 1);
  const double panel_bytes = 4.0 * static_cast<double>(depth) * static_cast<double>(panels.padded_columns()) /
                             static_cast<double>(panels.count());
  const double row_bytes = 4.0 * static_cast<double>(depth) * static_cast<double>(rows);
  const auto at_most = [](double value, int64_t most) {
    return value < 1.0 ? 1 : value < static_cast<double>(most) ? static_cast<int64_t>(value) : most;
  };
  const int64_t wanted_tasks = at_most(flops / kTaskFlops, ceil_div(kEnoughTasks, jobs));

  int64_t panel_tasks = ceil_div(panels.count(), at_most(kPanelBytes / (panel_bytes + 1.0), panels.count()));
  int64_t row_tasks = at_most(row_bytes / kRowBytes, tiles);
  const int64_t missing = ceil_div(wanted_tasks, panel_tasks);
  if (row_tasks < missing) row_tasks = missing < tiles ? missing : tiles;
  if (row_tasks * panel_tasks < wanted_tasks) {
    const int64_t more = ceil_div(wanted_tasks, row_tasks);
    panel_tasks = more < panels.count() ? more : panels.count();
  }
  split.tiles_per_task = tactic.v[0] > 0 ? tactic.v[0] : ceil_div(tiles, row_tasks);
  split.panels_per_task = tactic.v[1] > 0 ? tactic.v[1] : ceil_div(panels.count(), panel_tasks);
  split.row_tasks = ceil_div(tiles, split.tiles_per_task);
  split.panel_tasks = ceil_div(panels.count(), split.panels_per_task);
  return split;
}

int list_splits(const GemmShape& shape, int64_t rows, const PanelPlan& panels, int64_t depth, int64_t jobs,
                TacticParams* list, int capacity) {
  int count = 0;
  if (count < capacity) list[count++] = {};
  // The other ends: each panel a task of its own, and no cut between panels.
  const GemmSplit split = split_gemm(shape, rows, panels, depth, jobs, {});
  if (split.panels_per_task > 1 && count < capacity) list[count++] = {{0, 1}};
  if (split.panels_per_task < panels.count() && panels.count() <= INT32_MAX && count < capacity) {
    list[count++] = {{0, static_cast<int32_t>(panels.count())}};
  }
  return count;
}

void run_gemm_task(const GemmJob& job, const GemmSplit& split, int64_t task, std::byte* scratch) {
  // Tasks that share their panels follow one another.
  const int64_t first_panel = task / split.row_tasks * split.panels_per_task;
  const int64_t last_panel = first_panel + split.panels_per_task < job.panels.count()
                                 ? first_panel + split.panels_per_task
                                 : job.panels.count();
  const TileRows rows(job);
  const int64_t first_tile = task % split.row_tasks * split.tiles_per_task;
  const int64_t last_tile =
      first_tile + split.tiles_per_task < rows.count() ? first_tile + split.tiles_per_task : rows.count();
  if (first_tile >= last_tile) return;

  TileRunner runner(job, scratch);
  RowCursor cursor(job.rows, rows.first_row(first_tile));
  if (job.shape.half != nullptr) job.shape.half->begin();
  for (int64_t begin = first_tile; begin < last_tile; begin += runner.at_once()) {
    const int64_t end = begin + runner.at_once() < last_tile ? begin + runner.at_once() : last_tile;
    runner.prepare(rows, begin, end, &cursor);
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      runner.begin_panel(panel);
      const int64_t next = panel + 1 < last_panel ? panel + 1 : job.panels.count();
      for (int64_t tile = begin; tile < end; ++tile) {
        runner.run(tile - begin, rows.first_row(tile), rows.rows(tile), panel, next, end - begin);
      }
    }
  }
  if (job.shape.half != nullptr) job.shape.half->end();
}

}  // namespace planwright::fast
