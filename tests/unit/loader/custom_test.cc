// Custom operators in plans put together by hand: what the loader does with them, without a builder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugin/operators.h"
#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;
using tests::Loaded;
using tests::PlanBuilder;

class CustomSteps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(tests::add_operators({tests::sums_operator(), tests::positive_operator()}), PW_OK) << pw_last_error();
  }
};

// sums[4] of the columns of Positive(x[n, 4]), n from 1 to 8, tuned at 2.
PlanBuilder sums_plan() {
  PlanBuilder builder;
  const uint32_t n = builder.symbol(0, 0, 1, 8);
  const uint32_t four = builder.constant(4);
  const int32_t x = builder.input("x", DType::kF32, {n, four}, {1, 4}, {2, 4}, {8, 4});
  const int32_t sums = builder.output("sums", DType::kF64, {four});
  const int32_t checked = builder.dense(builder.arena(8 * 4 * 4), DType::kF32, {n, four}, "checked");
  builder.step("plugin:test::Positive", OpKind::kCustom, {x}, {checked}, "check");
  builder.step("plugin:test::Sums", OpKind::kCustom, {checked}, {sums}, "add").workspace =
      static_cast<int32_t>(builder.arena(4 * 8));
  return builder;
}

TEST_F(CustomSteps, RunWithTheirWorkspaceOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 4}) {
    pw_context_options options{};
    options.struct_size = sizeof options;
    options.threads = threads;
    Loaded loaded(sums_plan().plan, tests::Way::kMap, &options);
    std::vector<double> sums(4);
    for (const int64_t rows : {1, 3, 8}) {
      loaded.set_shape("x", {rows, 4});
      std::vector<float> x;
      for (int64_t i = 0; i < rows * 4; ++i) x.push_back(static_cast<float>(i % 4));
      loaded.bind("x", x);
      loaded.bind("sums", sums);
      ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
      const auto count = static_cast<double>(rows);
      EXPECT_EQ(sums, (std::vector<double>{0, count, 2 * count, 3 * count}));
    }
    loaded.set_shape("x", {1, 4});
    const std::vector<float> negative{1, -1, 1, -1};
    loaded.bind("x", negative);
    EXPECT_EQ(pw_context_run(loaded.context()), PW_PRECONDITION);
    EXPECT_STREQ(pw_last_error(), "layer check: test::Positive: element 1 is negative");
  }
}

TEST_F(CustomSteps, AreReportedByTheirKernel) {
  const Loaded loaded(sums_plan().plan);
  pw_step_info info;
  ASSERT_EQ(pw_engine_step(loaded.engine(), 0, 1, &info), PW_OK);
  EXPECT_STREQ(info.op, "Custom");
  EXPECT_STREQ(info.tactic, "plugin:test::Sums");
}

TEST_F(CustomSteps, AreRefusedByNameWhereNobodyRegisteredThem) {
  for (const auto& [name, version, words] :
       {std::tuple("plugin:test::Sums", 3u,
                   "needs version 3 of the custom operator test::Sums, version 1 is registered"),
        std::tuple("plugin:other::Sums", 1u,
                   "needs the custom operator other::Sums (version 1), which is not registered"),
        std::tuple("plugin:", 1u, "needs the custom operator  (version 1), which is not registered")}) {
    planfmt::PlanModel plan = sums_plan().plan;
    plan.kernels[1] = {name, version};
    pw_engine* engine = nullptr;
    tests::Aligned bytes(tests::engine_bytes(plan));
    EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_INCOMPATIBLE);
    EXPECT_THAT(pw_last_error(), HasSubstr(words));
  }
}

}  // namespace
}  // namespace planwright
