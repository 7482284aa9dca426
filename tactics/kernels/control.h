// Control flow as the plan and the loader see it. A step that runs bodies has a descriptor like any other, so that its
// operands are checked with all others; there is no code behind it: the loader reads them and runs the bodies.
//
// If: input 0, the condition, one bool -> nothing. Its bodies write what comes of it.
// Loop: input 0, the trip count, one int64, optional; input 1, the condition, one bool, optional, read before every
// iteration; one of the two is there -> output 0, one int64: the iteration under way, at the end how many were run.
#ifndef PLANWRIGHT_TACTICS_KERNELS_CONTROL_H_
#define PLANWRIGHT_TACTICS_KERNELS_CONTROL_H_

#include "tactics/kernels/kernel.h"

namespace planwright {

// Of kIf and kLoop: names control_if and control_loop, no run().
const KernelDescriptor& control_descriptor(OpKind op);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_CONTROL_H_
