// Walking and converting the elements of strided views; for what is not hot.
#ifndef PLANWRIGHT_TACTICS_ELEMENTS_H_
#define PLANWRIGHT_TACTICS_ELEMENTS_H_

#include <cstddef>
#include <cstdint>

#include "tactics/kernels/kernel.h"

namespace planwright::tactics {

// Bytes from a view's first element to the end of its last; 0 for a view without elements.
inline size_t extent_of(const TensorView& view) {
  int64_t last = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.dims[axis] == 0) return 0;
    last += (view.dims[axis] - 1) * view.strides[axis];
  }
  return static_cast<size_t>(last + 1) * size_of(view.dtype);
}

// Calls visit(index, element offset) for every element of the view in row-major order; `index` has view.rank entries.
template <typename Visit>
void for_each_element(const TensorView& view, const Visit& visit) {
  if (element_count(view) == 0) return;
  int64_t index[kMaxRank] = {};
  int64_t offset = 0;
  for (;;) {
    visit(static_cast<const int64_t*>(index), offset);
    int axis = view.rank - 1;
    for (; axis >= 0; --axis) {
      offset += view.strides[axis];
      if (++index[axis] < view.dims[axis]) break;
      offset -= index[axis] * view.strides[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_ELEMENTS_H_
