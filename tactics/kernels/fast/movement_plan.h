// Operators that only move elements (Copy, Expand, Reshape, Transpose, Slice, Tile, Concat), as strided copies.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_MOVEMENT_PLAN_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_MOVEMENT_PLAN_H_

#include "tactics/kernels/fast/strided_copy.h"

namespace planwright {

// What goes from input `input` to the output (Concat: into its slot), for arguments that the operator's reference
// kernel validates. Reads no data; where there is none the copy's pointers are null. kUnsupported where one nest of
// kMaxRank axes cannot say it: a Reshape between layouts whose axes cannot be cut to fit each other.
Status plan_movement(const KernelArgs& args, int input, StridedCopy* copy);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_MOVEMENT_PLAN_H_
