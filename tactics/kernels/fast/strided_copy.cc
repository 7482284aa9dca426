#include "tactics/kernels/fast/strided_copy.h"

#include <string.h>

namespace planwright {
namespace {

constexpr int64_t kTaskBytes = 1 << 16;
// One side of a transposed tile: of 4-byte elements 16 KiB are read and 16 KiB written, which fit L1 together.
constexpr int64_t kTileSide = 64;

int64_t ceil_div(int64_t a, int64_t b) { return (a - 1) / b + 1; }
int64_t at_most(int64_t length, int64_t most) { return length < most ? length : most; }

template <typename T>
void copy_strided(const std::byte* from_bytes, int64_t from_stride, std::byte* to_bytes, int64_t to_stride,
                  int64_t count) {
  const T* from = reinterpret_cast<const T*>(from_bytes);
  T* to = reinterpret_cast<T*>(to_bytes);
  if (from_stride == 0 && to_stride == 1) {
    const T value = *from;
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
}

// One row of the innermost axis.
void copy_row(int64_t size, const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
              int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    // An input of a Concat may already lie in its slot. Not memcpy: rows of an output that overlaps itself, which only
    // a hostile plan describes, may overlap too.
    if (to != from) memmove(to, from, static_cast<size_t>(count * size));
    return;
  }
  switch (size) {
    case 1: return copy_strided<uint8_t>(from, from_stride, to, to_stride, count);
    case 2: return copy_strided<uint16_t>(from, from_stride, to, to_stride, count);
    case 4: return copy_strided<uint32_t>(from, from_stride, to, to_stride, count);
    default: return copy_strided<uint64_t>(from, from_stride, to, to_stride, count);
  }
}

// A tile in plain C++, row by row of what is written.
void transpose_tile(int64_t size, const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
                    int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    copy_row(size, from + j * size, from_stride, to + j * to_stride * size, 1, rows);
}

// The axis other than the innermost along which what is read is contiguous; -1 if there is none.
int read_axis(const LoopNest& nest) {
  for (int axis = nest.rank - 2; axis >= 0; --axis) {
    if (nest.strides[1][axis] == 1) return axis;
  }
  return -1;
}

void copy_rows(Executor& executor, const StridedCopy& copy) {
  const LoopNest& nest = copy.nest;
  const int inner = nest.rank - 1;
  const int64_t size = copy.element_size, length = nest.inner(), rows = nest.outer_count();
  const int64_t to_stride = nest.strides[0][inner], from_stride = nest.strides[1][inner];
  // Tasks are blocks of one row where rows are long, else groups of rows.
  const int64_t block = at_most(length, kTaskBytes / size), blocks = ceil_div(length, block);
  const int64_t group = blocks > 1 ? 1 : kTaskBytes / (length * size) + 1;
  parallel_for(executor, ceil_div(rows, group) * blocks, [&](int64_t task, int) {
    const int64_t row = task / blocks * group, start = task % blocks * block;
    const int64_t count = at_most(length - start, block), end = at_most(rows, row + group);
    OuterPosition at(nest, row);
    for (int64_t i = row; i < end; ++i, at.next()) {
      copy_row(size, copy.from + (at.offset(1) + start * from_stride) * size, from_stride,
               copy.to + (at.offset(0) + start * to_stride) * size, to_stride, count);
    }
  });
}

void copy_tiles(Executor& executor, const StridedCopy& copy) {
  const LoopNest& nest = copy.nest;
  const int inner = nest.rank - 1, second = read_axis(nest);
  const int64_t size = copy.element_size, rows = nest.dims[inner], columns = nest.dims[second];
  const int64_t from_stride = nest.strides[1][inner], to_stride = nest.strides[0][second];
  // The axes outside a tile are walked as rows of a nest without the tile's.
  LoopNest outer = nest;
  outer.dims[second] = 1;
  const int64_t across = ceil_div(rows, kTileSide), tiles = across * ceil_div(columns, kTileSide);
  const int64_t tile_bytes = at_most(rows, kTileSide) * at_most(columns, kTileSide) * size;
  const int64_t count = outer.outer_count() * tiles, group = kTaskBytes / tile_bytes + 1;
  parallel_for(executor, ceil_div(count, group), [&](int64_t task, int) {
    const int64_t begin = task * group, end = at_most(count, begin + group);
    OuterPosition at(outer, begin / tiles);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t tile = unit % tiles, i = tile % across * kTileSide, j = tile / across * kTileSide;
      const std::byte* from = copy.from + (at.offset(1) + i * from_stride + j) * size;
      std::byte* to = copy.to + (at.offset(0) + j * to_stride + i) * size;
      const int64_t tile_rows = at_most(rows - i, kTileSide), tile_columns = at_most(columns - j, kTileSide);
      if (copy.transpose != nullptr && size == 4) {
        copy.transpose(reinterpret_cast<const uint32_t*>(from), from_stride, reinterpret_cast<uint32_t*>(to), to_stride,
                       tile_rows, tile_columns);
      } else {
        transpose_tile(size, from, from_stride, to, to_stride, tile_rows, tile_columns);
      }
      if (tile == tiles - 1) at.next();
    }
  });
}

}  // namespace

bool is_transposing(const LoopNest& nest) {
  const int inner = nest.rank - 1;
  return nest.strides[0][inner] == 1 && nest.strides[1][inner] > 1 && read_axis(nest) >= 0;
}

void strided_copy(Executor& executor, const StridedCopy& copy) {
  if (copy.nest.outer_count() * copy.nest.inner() == 0) return;
  if (is_transposing(copy.nest)) {
    copy_tiles(executor, copy);
  } else {
    copy_rows(executor, copy);
  }
}

}  // namespace planwright
