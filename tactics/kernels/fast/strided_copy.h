// Copying between strided views, and filling them: elements of 1, 2, 4 or 8 bytes, whatever their type.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_

#include "tactics/kernels/kernel.h"

namespace planwright {

// to[i] = from[i] for every position of `to`'s dims; `from_strides` are those of the source over these dims (0 repeats).
// The element size is that of `to`'s type.
void strided_copy(Executor& executor, const TensorView& to, const void* from, const int64_t from_strides[kMaxRank]);

// Every element of `to` becomes the element at `value`.
void strided_fill(Executor& executor, const TensorView& to, const void* value);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_STRIDED_COPY_H_
