#include "tactics/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/tactics/specs.h"

namespace planwright::tactics {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Disagreement, OfFloatsIsMeasuredAgainstTheirSize) {
  const StepSpec spec = copy_spec({4});
  const std::vector<double> expected{1, -100, 0, 10};
  EXPECT_THAT(disagreement(spec, {expected}, {expected}), IsEmpty());
  EXPECT_THAT(disagreement(spec, {{1.0001, -100.05, 0.0001, 10}}, {expected}), IsEmpty());
  EXPECT_THAT(disagreement(spec, {{1, -100, 0, 11}}, {expected}),
              HasSubstr("output 0: 1 of 4 elements differ, first at 3: 11, expected 10"));
}

// Products in bf16 may be off by 2 %, and one element in 500 by more.
TEST(Disagreement, OfBf16IsAsWideAsItsRounding) {
  const StepSpec spec = copy_spec({1000});
  const std::vector<double> expected(1000, 1.0);
  std::vector<double> actual(1000, 1.03);
  EXPECT_THAT(disagreement(spec, {actual}, {expected}), HasSubstr("1000 of 1000"));
  EXPECT_THAT(disagreement(spec, {actual}, {expected}, Precision::kBf16), IsEmpty());
  actual[0] = actual[1] = 2;
  EXPECT_THAT(disagreement(spec, {actual}, {expected}, Precision::kBf16), IsEmpty());
  actual[2] = 2;
  EXPECT_THAT(disagreement(spec, {actual}, {expected}, Precision::kBf16), HasSubstr("3 of 1000"));
}

TEST(Disagreement, NanAndInfinityMustBeTheSame) {
  const StepSpec spec = copy_spec({2});
  EXPECT_THAT(disagreement(spec, {{kNan, kInf}}, {{kNan, kInf}}), IsEmpty());
  EXPECT_THAT(disagreement(spec, {{kNan, 1}}, {{1, 1}}), HasSubstr("first at 0: nan"));
  EXPECT_THAT(disagreement(spec, {{1, 1}}, {{kNan, 1}}), HasSubstr("expected nan"));
  EXPECT_THAT(disagreement(spec, {{-kInf, 1}}, {{kInf, 1}}), HasSubstr("differ"));
}

TEST(Disagreement, IntegersMustBeEqual) {
  StepSpec spec = copy_spec({2});
  spec.outputs[0].dtype = DType::kI64;
  EXPECT_THAT(disagreement(spec, {{1000000, 2}}, {{1000000, 2}}), IsEmpty());
  EXPECT_THAT(disagreement(spec, {{1000001, 2}}, {{1000000, 2}}), HasSubstr("1 of 2"));
}

TEST(Disagreement, AStepThatRoundsMayPutOneElementInAHundredOnTheOtherSide) {
  StepSpec spec = copy_spec({200});
  spec.op = OpKind::kPointwise;
  spec.program.resize(3);
  spec.program[1].op = PwOp::kFloor;
  spec.program[2].op = PwOp::kStore;
  const std::vector<double> expected(200, 3);
  std::vector<double> actual = expected;
  actual[5] = actual[6] = 2;
  EXPECT_THAT(disagreement(spec, {actual}, {expected}), IsEmpty());
  actual[7] = 2;
  EXPECT_THAT(disagreement(spec, {actual}, {expected}), HasSubstr("3 of 200"));
}

TEST(ResultsOf, ReadsStridesAndTypes) {
  const int8_t elements[] = {1, -2, 3, -4, 5, -6};
  TensorView view = view_of({2, 3}, DType::kI8);
  view.strides[0] = 1;  // columns first
  view.strides[1] = 2;
  view.data = const_cast<int8_t*>(elements);
  TensorView absent;
  absent.absent = true;
  EXPECT_THAT(results_of({absent, view}), testing::ElementsAre(testing::ElementsAre(1, 3, 5, -2, -4, -6)));
}

}  // namespace
}  // namespace planwright::tactics
