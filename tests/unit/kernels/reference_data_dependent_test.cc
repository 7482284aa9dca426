// NonZero, Unique and NonMaxSuppression by hand, and reading values that become shapes.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::f32;
using testing::KernelCase;
using testing::reference_status;
using testing::refuses;
using testing::TestTensor;

TestTensor i64(const Dims& dims) { return TestTensor(DType::kI64, dims); }

// The first elements of an output.
void expect_begins(const KernelCase& c, size_t output, const std::vector<double>& expected) {
  std::vector<double> elements = c.outputs[output].elements();
  ASSERT_GE(elements.size(), expected.size());
  elements.resize(expected.size());
  EXPECT_EQ(elements, expected) << "output " << output;
}

TEST(ReferenceReadValues, WidensIntegers) {
  KernelCase c = KernelCase::of(OpKind::kReadValues, {TestTensor::of(DType::kI32, {3}, {-1, 0, 7})}, {i64({3})});
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_elements(c.outputs[0], {-1, 0, 7});
  EXPECT_TRUE(refuses(KernelCase::of(OpKind::kReadValues, {f32({1}, {1})}, {i64({1})})));
}

TEST(ReferenceNonZero, ListsPlacesInRowMajorOrder) {
  KernelCase c = KernelCase::of(OpKind::kNonZero, {f32({2, 3}, {0, 1, 0, -2, 0, 3})}, {i64({2, 3})});
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_elements(c.outputs[0], {0, 1, 1, 1, 0, 2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  KernelCase nans = KernelCase::of(OpKind::kNonZero, {f32({2}, {nan, -0.0})}, {i64({1, 1})});
  ASSERT_TRUE(reference_status(nans).ok()) << last_error();
  expect_elements(nans.outputs[0], {0});
}

// The data may have changed since it was counted: then it is an error, and no column too many is written.
TEST(ReferenceNonZero, AnotherCountThanCountedIsAnError) {
  for (const int64_t counted : {0, 2, 4}) {
    KernelCase c = KernelCase::of(OpKind::kNonZero, {f32({4}, {1, 0, 1, 1})}, {i64({1, counted})});
    EXPECT_EQ(reference_status(c).code(), StatusCode::kPrecondition) << counted;
  }
}

KernelCase unique_case(TestTensor x, int axis, int sorted, int64_t count) {
  const Dims dims = axis < 0 ? Dims{count} : x.dims();
  const DType type = x.view().dtype;
  return KernelCase::of(OpKind::kUnique, {std::move(x)},
                        {TestTensor(type, dims), i64({1}), i64({count}), i64({count}), i64({count})})
      .with(UniqueParams{axis, sorted});
}

TEST(ReferenceUnique, ElementsAscending) {
  KernelCase c = unique_case(f32({2, 3}, {3, 1, 2, 1, 3, 3}), -1, 1, 6);
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_begins(c, 0, {1, 2, 3});
  expect_begins(c, 1, {3});
  expect_begins(c, 2, {1, 2, 0});
  expect_begins(c, 3, {2, 0, 1, 0, 2, 2});
  expect_begins(c, 4, {2, 1, 3});
}

TEST(ReferenceUnique, ElementsAsTheyCome) {
  KernelCase c = unique_case(f32({5}, {2, 9, 2, 1, 9}), -1, 0, 5);
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_begins(c, 0, {2, 9, 1});
  expect_begins(c, 2, {0, 1, 3});
  expect_begins(c, 3, {0, 1, 0, 2, 1});
  expect_begins(c, 4, {2, 2, 1});
}

TEST(ReferenceUnique, SlicesAlongAnAxis) {
  KernelCase c = unique_case(f32({3, 2}, {1, 0, 0, 5, 1, 0}), 0, 1, 3);
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_begins(c, 0, {0, 5, 1, 0});
  expect_begins(c, 1, {2});
  expect_begins(c, 3, {1, 0, 1});
}

TEST(ReferenceUnique, NaNsAreOneElementTheLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  KernelCase c = unique_case(f32({4}, {nan, 1, nan, -1}), -1, 1, 4);
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_begins(c, 1, {3});
  expect_begins(c, 2, {3, 1, 0});
  expect_begins(c, 4, {1, 1, 2});
}

// Boxes 0 and 1 overlap by 9/11, box 2 lies apart, box 3 is box 0 with its corners the other way round.
KernelCase suppression(double overlap, double score, int64_t most) {
  const TestTensor boxes = f32({1, 4, 4}, {0, 0, 10, 10, 0, 1, 10, 11, 20, 20, 30, 30, 10, 10, 0, 0});
  const TestTensor scores = f32({1, 1, 4}, {0.9, 0.8, 0.7, 0.6});
  return KernelCase::of(OpKind::kNonMaxSuppression, {boxes, scores, f32({1}, {overlap}), f32({1}, {score})},
                        {i64({most < 4 ? most : 4, 3}), i64({1})})
      .with(NonMaxSuppressionParams{})
      .with_scalars({most});
}

TEST(ReferenceNonMaxSuppression, KeepsTheBestOfWhatOverlaps) {
  KernelCase c = suppression(0.5, 0, 9);
  ASSERT_TRUE(reference_status(c).ok()) << last_error();
  expect_begins(c, 0, {0, 0, 0, 0, 0, 2});
  expect_begins(c, 1, {2});
}

TEST(ReferenceNonMaxSuppression, ThresholdsAndTheMostCount) {
  KernelCase loose = suppression(0.9, 0, 9);
  ASSERT_TRUE(reference_status(loose).ok());
  expect_begins(loose, 0, {0, 0, 0, 0, 0, 1, 0, 0, 2});
  KernelCase confident = suppression(0.9, 0.75, 9);
  ASSERT_TRUE(reference_status(confident).ok());
  expect_begins(confident, 1, {2});
  KernelCase one = suppression(0.9, 0, 1);
  ASSERT_TRUE(reference_status(one).ok());
  expect_begins(one, 1, {1});
  KernelCase none = suppression(0.9, 0, 0);
  ASSERT_TRUE(reference_status(none).ok());
  expect_begins(none, 1, {0});
  EXPECT_TRUE(refuses(suppression(0.9, 0, 9).with_scalars({-1})));
}

}  // namespace
}  // namespace planwright
