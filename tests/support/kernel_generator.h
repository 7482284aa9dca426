// Tests of fast kernels by generators of cases: an operator's kernels, on every instruction set this CPU has, against
// the reference kernel on random shapes, strides, tails and alignments; and on what a hostile engine makes of them.
#ifndef PLANWRIGHT_TESTS_SUPPORT_KERNEL_GENERATOR_H_
#define PLANWRIGHT_TESTS_SUPPORT_KERNEL_GENERATOR_H_

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/kernel_harness.h"

namespace planwright::testing {

struct Generator {
  const char* name;
  OpKind op;
  KernelCase (*make)(Rng&);
  Tolerance tolerance;
  // Families that must take some of the cases: a kernel that refuses everything would pass unseen.
  std::vector<std::string> families;
  int cases = 100;
};

void PrintTo(const Generator& generator, std::ostream* stream);

void expect_agreement_on_random_cases(const Generator& generator);
void expect_hostile_cases_stay_in_bounds(const Generator& generator);

// ---- What generators share.

bool coin(Rng& rng);
// Dims [N, C, H, W].
Dims image(Rng& rng, int64_t max_channels);
// Channels-last, with gaps as a slice of a Concat has, or row-major.
Dims image_strides(Rng& rng, const Dims& dims);

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_KERNEL_GENERATOR_H_
