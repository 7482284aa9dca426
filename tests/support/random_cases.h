// Random small cases of every operator: valid as the operator defines it, of any type and layout it may have.
#ifndef PLANWRIGHT_TESTS_SUPPORT_RANDOM_CASES_H_
#define PLANWRIGHT_TESTS_SUPPORT_RANDOM_CASES_H_

#include "tests/support/kernel_harness.h"

namespace planwright::testing {

// Indices lie in range, except for one case in eight.
KernelCase random_case(OpKind op, Rng& rng);

// A valid program of up to `length` instructions, every operation in every class it is defined in.
std::vector<PwInstr> random_program(Rng& rng, int length, int operands, int outputs, bool has_accumulator);

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_RANDOM_CASES_H_
