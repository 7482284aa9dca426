#include "tactics/kernels/fast/strided_copy.h"

#include <string.h>

#include "tactics/kernels/fast/loop_nest.h"

namespace planwright {
namespace {

constexpr int64_t kTaskElements = 1 << 14;
constexpr int64_t kTile = 16;  // a transposed tile of 16 x 16 words touches 16 lines on either side

// One row of the innermost axis.
template <typename T>
void copy_row(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = *from;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// to[r][c] = from[r][c], where the source runs along r: in tiles, so that each line is read and written once.
template <typename T>
void copy_transposed(T* to, int64_t to_row, int64_t to_column, const T* from, int64_t from_column, int64_t rows,
                     int64_t columns) {
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r1 = rows - r0 < kTile ? rows : r0 + kTile;
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = columns - c0 < kTile ? columns : c0 + kTile;
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) to[r * to_row + c * to_column] = from[r + c * from_column];
      }
    }
  }
}

// Views of the nest: 0 is the destination, 1 the source.
template <typename T>
void copy_elements(Executor& executor, const LoopNest& nest, T* to, const T* from) {
  const int inner = nest.rank - 1, second = nest.rank - 2;
  const int64_t inner_count = nest.dims[inner];
  if (nest.rank >= 2 && nest.strides[1][inner] != 1 && nest.strides[1][second] == 1) {
    // Tasks are groups of rows of the second axis; the axes outside both are walked as rows of a nest without them.
    LoopNest outer = nest;
    outer.dims[second] = 1;
    const int64_t rows = nest.dims[second];
    int64_t group = (kTaskElements / (inner_count + 1) / kTile + 1) * kTile;
    const int64_t groups = (rows + group - 1) / group;
    parallel_for(executor, outer.outer_count() * groups, [&](int64_t task, int) {
      const OuterPosition at(outer, task / groups);
      const int64_t row = task % groups * group;
      copy_transposed(to + at.offset(0) + row * nest.strides[0][second], nest.strides[0][second],
                      nest.strides[0][inner], from + at.offset(1) + row, nest.strides[1][inner],
                      rows - row < group ? rows - row : group, inner_count);
    });
    return;
  }
  const int64_t rows = nest.outer_count();
  const int64_t blocks = (inner_count + kTaskElements - 1) / kTaskElements;
  const int64_t group = blocks > 1 ? 1 : kTaskElements / inner_count + 1;
  const int64_t groups = (rows + group - 1) / group;
  parallel_for(executor, groups * blocks, [&](int64_t task, int) {
    const int64_t row = task / blocks * group, start = task % blocks * kTaskElements;
    const int64_t count = inner_count - start < kTaskElements ? inner_count - start : kTaskElements;
    OuterPosition at(nest, row);
    for (int64_t i = row; i < row + group && i < rows; ++i, at.next()) {
      copy_row(to + at.offset(0) + start * nest.strides[0][inner], nest.strides[0][inner],
               from + at.offset(1) + start * nest.strides[1][inner], nest.strides[1][inner], count);
    }
  });
}

}  // namespace

void strided_copy(Executor& executor, const TensorView& to, const void* from, const int64_t from_strides[kMaxRank]) {
  if (element_count(to) == 0) return;
  int64_t strides[2][kMaxRank];
  for (int axis = 0; axis < to.rank; ++axis) {
    strides[0][axis] = to.strides[axis];
    strides[1][axis] = from_strides[axis];
  }
  const LoopNest nest = make_loop_nest(to.rank, to.dims, 2, strides);
  switch (size_of(to.dtype)) {
    case 1: return copy_elements(executor, nest, to.as<uint8_t>(), static_cast<const uint8_t*>(from));
    case 2: return copy_elements(executor, nest, to.as<uint16_t>(), static_cast<const uint16_t*>(from));
    case 4: return copy_elements(executor, nest, to.as<uint32_t>(), static_cast<const uint32_t*>(from));
    default: return copy_elements(executor, nest, to.as<uint64_t>(), static_cast<const uint64_t*>(from));
  }
}

void strided_fill(Executor& executor, const TensorView& to, const void* value) {
  const int64_t still[kMaxRank] = {};
  strided_copy(executor, to, value, still);
}

}  // namespace planwright
