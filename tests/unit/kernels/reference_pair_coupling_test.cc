// PairCoupling: libsvm's numbers, computed apart from the kernel.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::expect_elements;
using testing::expect_runs;
using testing::KernelCase;
using testing::refuses;
using testing::TestTensor;

KernelCase couple(int64_t rows, int64_t classes, const std::vector<double>& pairs) {
  const int64_t columns = static_cast<int64_t>(pairs.size()) / rows;
  return KernelCase::of(OpKind::kPairCoupling, {TestTensor::of(DType::kF64, {rows, columns}, pairs)},
                        {TestTensor(DType::kF64, {rows, classes})});
}

void expect_probabilities(const KernelCase& c, const std::vector<double>& expected) {
  expect_runs(c);
  expect_elements(c.outputs[0], expected, 1e-8);
}

TEST(ReferencePairCoupling, OfTwoClasses) {
  expect_probabilities(couple(3, 2, {0.9, 0.25, 0.5}), {0.89999988, 0.10000012, 0.24999569, 0.75000431, 0.5, 0.5});
}

TEST(ReferencePairCoupling, OfMoreClasses) {
  expect_probabilities(couple(2, 3, {0.9, 0.8, 0.3, 0.5, 0.5, 0.5}),
                       {0.73394763, 0.08166289, 0.18438948, 1 / 3., 1 / 3., 1 / 3.});
  expect_probabilities(couple(1, 4, {0.6, 0.9, 0.2, 0.7, 0.4, 0.1}), {0.19415861, 0.23876677, 0.0596708, 0.50740382});
}

// The exact minimum was as far as 3.5e-3 from what scikit-learn and ONNX Runtime answer.
TEST(ReferencePairCoupling, StopsWhereLibsvmDoes) { expect_probabilities(couple(1, 2, {0.503}), {0.5, 0.5}); }

TEST(ReferencePairCoupling, EndsOnPairsThatAreNoProbabilities) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {0.0, 1.0, -7.0, 1e300, nan}) {
    expect_runs(couple(1, 3, {value, value, value}));
  }
}

TEST(ReferencePairCoupling, RefusesPairsThatAreNotThoseOfTheClasses) {
  EXPECT_TRUE(refuses(couple(1, 4, {0.5, 0.5, 0.5})));
  EXPECT_TRUE(refuses(couple(1, 1, {0.5})));
  KernelCase rows = couple(2, 2, {0.5, 0.5});
  rows.outputs[0] = TestTensor(DType::kF64, {3, 2});
  EXPECT_TRUE(refuses(rows));
}

}  // namespace
}  // namespace planwright
