// Cases of a kernel written out, for tests of the reference kernels' values.
#ifndef PLANWRIGHT_TESTS_SUPPORT_REFERENCE_CASE_H_
#define PLANWRIGHT_TESTS_SUPPORT_REFERENCE_CASE_H_

#include <gtest/gtest.h>

#include <vector>

#include "tactics/kernels/registry.h"
#include "tests/support/kernel_harness.h"

namespace planwright::testing {

inline TestTensor f32(const Dims& dims, const std::vector<double>& elements) {
  return TestTensor::of(DType::kF32, dims, elements);
}
inline TestTensor i32(const Dims& dims, const std::vector<double>& elements) {
  return TestTensor::of(DType::kI32, dims, elements);
}
inline TestTensor i64(const Dims& dims, const std::vector<double>& elements) {
  return TestTensor::of(DType::kI64, dims, elements);
}

inline Status reference_status(const KernelCase& c) { return run_kernel(reference_kernel(c.op), c); }
inline void expect_runs(const KernelCase& c) { ASSERT_TRUE(reference_status(c).ok()) << last_error(); }
// By validate(), before anything runs.
inline bool refuses(const KernelCase& c) { return !validate_case(reference_kernel(c.op), c).ok(); }

inline void expect_output(const KernelCase& c, const std::vector<double>& expected) {
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_elements(c.outputs[0], expected);
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_REFERENCE_CASE_H_
