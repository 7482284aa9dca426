// Shapes that values decide: an input's, read when a run begins, and a step's, read when it has run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loaded.h"
#include "tests/support/prefix_plan.h"

namespace planwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Loaded;
using tests::PlanBuilder;
using tests::prefix_plan;

class Prefix : public testing::TestWithParam<bool> {
 protected:
  std::vector<float> x_ = {1, -2, 3, 4};
};

TEST_P(Prefix, TheOutputHasTheShapeOfTheValueOfEachRun) {
  Loaded loaded(prefix_plan(GetParam()).plan);
  std::vector<int64_t> count = {2};
  std::vector<float> y(3, -1);
  loaded.bind("x", x_);
  loaded.bind("count", count);
  loaded.bind("y", y);
  for (const int64_t k : {2, 3, 3, 1, 2}) {
    count[0] = k;
    y.assign(3, -1);
    ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
    EXPECT_THAT(loaded.shape("y"), ElementsAre(k));
    EXPECT_THAT(y, ElementsAre(1, k > 1 ? 0 : -1, k > 2 ? 3 : -1));
  }
}

TEST_P(Prefix, ALimitIsKnownBeforehand) {
  Loaded loaded(prefix_plan(GetParam()).plan);
  size_t bytes = 0;
  ASSERT_EQ(pw_context_output_limit(loaded.context(), "y", &bytes), PW_OK) << pw_last_error();
  EXPECT_EQ(bytes, 12u);
  EXPECT_EQ(pw_context_output_limit(loaded.context(), "z", &bytes), PW_INVALID);
  EXPECT_EQ(pw_context_output_limit(loaded.context(), "y", nullptr), PW_INVALID);
}

TEST_P(Prefix, ABufferTooSmallForTheShapeIsRefused) {
  Loaded loaded(prefix_plan(GetParam()).plan);
  std::vector<int64_t> count = {3};
  std::vector<float> y(2, -1);
  loaded.bind("x", x_);
  loaded.bind("count", count);
  loaded.bind("y", y);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("buffer of y has 8 bytes, the tensor 12"));
  count[0] = 2;
  EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
}

INSTANTIATE_TEST_SUITE_P(Values, Prefix, testing::Bool(),
                         [](const auto& named) { return named.param ? "OfAStep" : "OfAnInput"; });

TEST(InputValues, AreCheckedAgainstTheProfile) {
  Loaded loaded(prefix_plan(false).plan);
  std::vector<int64_t> count = {4};
  std::vector<float> x(4), y(4);
  loaded.bind("x", x);
  loaded.bind("count", count);
  loaded.bind("y", y);
  for (const int64_t wrong : {int64_t{4}, int64_t{0}, INT64_MIN, INT64_MAX}) {
    count[0] = wrong;
    EXPECT_EQ(pw_context_run(loaded.context()), PW_INVALID);
    EXPECT_THAT(pw_last_error(), HasSubstr("value 0 of input count cannot be"));
    EXPECT_THAT(pw_last_error(), HasSubstr("profile 0 holds 1 to 3"));
  }
}

TEST(InputValues, AnOutputsShapeWaitsForTheInput) {
  Loaded loaded(prefix_plan(false).plan);
  int64_t dim = 0;
  size_t rank = 1;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", &dim, &rank), PW_PRECONDITION);
  EXPECT_THAT(pw_last_error(), HasSubstr("values of input count: bind it first"));
  const std::vector<int64_t> count = {3};
  loaded.bind("count", count);
  EXPECT_THAT(loaded.shape("y"), ElementsAre(3));
}

TEST(InputValues, TheirRangesAreListed) {
  Loaded loaded(prefix_plan(false).plan);
  int64_t min[PW_MAX_VALUES], opt[PW_MAX_VALUES], max[PW_MAX_VALUES];
  size_t count = 99;
  ASSERT_EQ(pw_engine_profile_values(loaded.engine(), 0, "count", min, opt, max, &count), PW_OK) << pw_last_error();
  EXPECT_EQ(count, 1u);
  EXPECT_THAT((std::vector<int64_t>{min[0], opt[0], max[0]}), ElementsAre(1, 2, 3));
  ASSERT_EQ(pw_engine_profile_values(loaded.engine(), 0, "x", nullptr, nullptr, nullptr, &count), PW_OK);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(pw_engine_profile_values(loaded.engine(), 0, "y", min, opt, max, &count), PW_INVALID);
}

// Nothing of the file is believed: a result beyond what was planned ends the run, whatever the symbol's range says.
TEST(StepResults, AResultBeyondTheStorageIsRefused) {
  Loaded loaded(prefix_plan(true).plan);
  std::vector<float> x(4), y(100);
  loaded.bind("x", x);
  loaded.bind("y", y);
  for (const int64_t wrong : {int64_t{5}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const std::vector<int64_t> count = {wrong};
    loaded.bind("count", count);
    EXPECT_NE(pw_context_run(loaded.context()), PW_OK) << wrong;
    EXPECT_THAT(pw_last_error(), HasSubstr("layer "));
  }
}

TEST(StepResults, AnOutputsShapeIsThatOfTheLastRun) {
  Loaded loaded(prefix_plan(true).plan);
  int64_t dim = 0;
  size_t rank = 1;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", &dim, &rank), PW_PRECONDITION);
  EXPECT_THAT(pw_last_error(), HasSubstr("known after a run"));
}

}  // namespace
}  // namespace planwright
