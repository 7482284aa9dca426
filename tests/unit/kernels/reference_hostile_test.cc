// What a damaged or hostile engine may ask of a kernel: arguments that validate() takes, whatever they are, are run on
// memory of exactly their size, which crashes or complains when anything outside is touched.
#include <gtest/gtest.h>

#include "tactics/kernels/registry.h"
#include "tests/support/hostile_cases.h"
#include "tests/support/kernel_harness.h"
#include "tests/support/random_cases.h"

namespace planwright {
namespace {

using testing::KernelCase;
using testing::Rng;

class EveryOperator : public ::testing::TestWithParam<int> {
 protected:
  OpKind op() const { return static_cast<OpKind>(GetParam()); }
  const KernelDescriptor& kernel() const { return reference_kernel(op()); }
};

std::string name_of_param(const ::testing::TestParamInfo<int>& info) {
  return name_of(static_cast<OpKind>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Reference, EveryOperator, ::testing::Range(0, kOpKindCount), name_of_param);

TEST_P(EveryOperator, RunsItsRandomCases) {
  Rng rng(static_cast<uint64_t>(GetParam()));
  for (int i = 0; i < 300; ++i) {
    const KernelCase c = testing::random_case(op(), rng);
    ASSERT_TRUE(validate_case(kernel(), c).ok()) << last_error() << "\n" << describe(c);
    const Status status = run_kernel(kernel(), c);
    ASSERT_TRUE(status.ok() || status.code() == StatusCode::kPrecondition) << last_error() << "\n" << describe(c);
    if (HasFailure()) return;
  }
}

TEST_P(EveryOperator, GivesTheSameBitsOnAnyThreads) {
  Rng rng(static_cast<uint64_t>(GetParam()) + 100);
  for (int i = 0; i < 10; ++i) {
    const KernelCase c = testing::random_case(op(), rng);
    if (!run_kernel(kernel(), c.with_own_outputs()).ok()) continue;  // an index out of range
    expect_same_bits_on_any_threads(kernel(), c);
    if (HasFailure()) return;
  }
}

TEST_P(EveryOperator, WhatValidatePassesStaysInBounds) {
  Rng rng(static_cast<uint64_t>(GetParam()) + 1000);
  int passed = 0;
  for (int i = 0; i < 3000; ++i) {
    KernelCase c = testing::random_case(op(), rng);
    if (!testing::change_hostilely(rng, kernel(), &c)) continue;
    ++passed;
    const Status status = run_kernel(kernel(), c);
    ASSERT_TRUE(status.ok() || status.code() == StatusCode::kPrecondition) << last_error() << "\n" << describe(c);
    if (HasFailure()) return;
  }
  EXPECT_GE(passed, 30) << "too few of the changed cases were run to show anything";
}

}  // namespace
}  // namespace planwright
