// Copying between strided views: elements of 1, 2, 4 or 8 bytes, whatever their type.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_

#include <cstddef>

#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/kernel.h"

namespace planwright {

// Transposes a tile of 4-byte elements: element (i, j) from[i * from_stride + j] goes to to[j * to_stride + i].
using TransposeTile = void (*)(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                               int64_t columns);

// The elements at every position of a nest: view 0 is written, view 1 read (its strides may be negative).
struct StridedCopy {
  LoopNest nest;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int64_t element_size = 0;
  TransposeTile transpose = nullptr;  // where is_transposing and elements have 4 bytes; null: plain C++
};

void strided_copy(Executor& executor, const StridedCopy& copy);

// Whether what is written runs along another axis than what is read, so that the copy goes tile by tile.
bool is_transposing(const LoopNest& nest);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_
