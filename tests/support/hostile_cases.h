// Cases that a damaged or hostile engine may ask a kernel to run.
#ifndef PLANWRIGHT_TESTS_SUPPORT_HOSTILE_CASES_H_
#define PLANWRIGHT_TESTS_SUPPORT_HOSTILE_CASES_H_

#include "tests/support/kernel_harness.h"

namespace planwright::testing {

// Changes a dim, stride, type, attribute, scalar or instruction of the case, or two. False where the kernel refuses it
// then, or where it would be too large for a test; else the case has tensors of exactly the size it says.
bool change_hostilely(Rng& rng, const KernelDescriptor& kernel, KernelCase* c);

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_HOSTILE_CASES_H_
