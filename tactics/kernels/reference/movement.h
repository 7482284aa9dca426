// Copies between strided boxes of memory.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_MOVEMENT_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_MOVEMENT_H_

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {

// Copies the elements at every position of `box`; a position's element lies at base + position . strides of each view.
// Strides may be negative here.
inline void copy_box(const KernelArgs& args, const Box& box, const TensorView& from, int64_t from_base,
                     const int64_t* from_strides, const TensorView& to, int64_t to_base, const int64_t* to_strides) {
  const size_t size = size_of(to.dtype);
  for_each_position(args, box, [&](const Position& at, int) {
    copy_element(size, from.data, from_base + at.offset(from_strides, box.rank), to.data,
                 to_base + at.offset(to_strides, box.rank));
  });
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_MOVEMENT_H_
