// From a plan to numbers: write, open, set shapes, bind, run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planfmt/write.h"
#include "planwright/planwright.h"
#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Loaded;

TEST(Run, ComputesWhatThePlanSays) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  const std::vector<float> x = {1, 2, 3, 4, -1, 0, 0, 0};
  std::vector<float> y(6);
  loaded.set_shape("x", {2, 4});
  loaded.bind("x", x);
  loaded.bind("y", y);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  // Row i of W is i - j.
  EXPECT_THAT(y, ElementsAre(20, 10, 0, 0, 1, 2));
}

TEST(Run, TakesAnotherShapeOfTheProfile) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  for (const int64_t rows : {8, 1, 4}) {
    const std::vector<float> x(static_cast<size_t>(rows) * 4, 1.0f);
    std::vector<float> y(static_cast<size_t>(rows) * 3, -1.0f);
    loaded.set_shape("x", {rows, 4});
    EXPECT_THAT(loaded.shape("y"), ElementsAre(rows, 3));
    loaded.bind("x", x);
    loaded.bind("y", y);
    ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      EXPECT_EQ(y[row * 3], 6) << row;
      EXPECT_EQ(y[row * 3 + 1], 2) << row;
      EXPECT_EQ(y[row * 3 + 2], 0) << row;
    }
  }
}

TEST(Run, GivesTheSameFromAMapAReadFileAndMemory) {
  std::vector<std::vector<float>> results;
  for (const tests::Way way : {tests::Way::kMap, tests::Way::kRead, tests::Way::kMemory, tests::Way::kMemoryRead}) {
    Loaded loaded(tests::matmul_relu_plan().plan, way);
    const std::vector<float> x = {1, 2, 3, 4};
    std::vector<float> y(3);
    loaded.set_shape("x", {1, 4});
    loaded.bind("x", x);
    loaded.bind("y", y);
    ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
    results.push_back(y);
  }
  EXPECT_THAT(results, testing::Each(ElementsAre(20, 10, 0)));
}

TEST(Run, GoesThroughEveryKindOfStep) {
  Loaded loaded(tests::many_steps_plan().plan);
  // The row 0..7 normalised is (i - 3.5) / 2.2913; its largest are the last three.
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int64_t> picks = {0, -1};
  std::vector<float> y(10);
  std::vector<int64_t> places(3);
  loaded.set_shape("x", {1, 8});
  loaded.set_shape("picks", {1, 2});
  loaded.bind("x", x);
  loaded.bind("picks", picks);
  loaded.bind("y", y);
  loaded.bind("places", places);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(places, ElementsAre(7, 6, 5));
  const float unit = 1 / std::sqrt(5.25f + 1e-5f);
  const float row[] = {3.5f * unit, 2.5f * unit, 1.5f * unit, -3.5f * unit, 3.5f * unit};
  for (int i = 0; i < 5; ++i) {
    const float left = i > 0 ? row[i - 1] : 0, right = i < 4 ? row[i + 1] : 0;
    EXPECT_NEAR(y[static_cast<size_t>(i)], left + row[i] + right, 1e-5f) << i;
    EXPECT_NEAR(y[static_cast<size_t>(5 + i)], row[i], 1e-5f) << i;
  }
}

TEST(Run, AnIndexOutOfRangeIsThePreconditionOfItsLayer) {
  Loaded loaded(tests::many_steps_plan().plan);
  const std::vector<float> x(8);
  const std::vector<int64_t> picks = {0, 8};
  std::vector<float> y(10);
  std::vector<int64_t> places(3);
  loaded.set_shape("x", {1, 8});
  loaded.set_shape("picks", {1, 2});
  loaded.bind("x", x);
  loaded.bind("picks", picks);
  loaded.bind("y", y);
  loaded.bind("places", places);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_PRECONDITION);
  EXPECT_THAT(pw_last_error(), HasSubstr("layer pick: "));
}

TEST(Run, UsesTheCallersThreadsAndArena) {
  struct Caller {
    int calls = 0;
    static void parallel_for(void* user, int64_t tasks, void (*task)(void*, int64_t, int), void* context) {
      ++static_cast<Caller*>(user)->calls;
      for (int64_t i = tasks; i-- > 0;) task(context, i, static_cast<int>(i % 3));
    }
  } caller;
  alignas(64) static std::byte arena[4096];
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = 3;
  options.parallel_for = Caller::parallel_for;
  options.parallel_for_user = &caller;
  options.arena = arena;
  options.arena_bytes = sizeof arena;
  Loaded loaded(tests::matmul_relu_plan().plan, tests::Way::kMap, &options);
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(3);
  loaded.set_shape("x", {1, 4});
  loaded.bind("x", x);
  loaded.bind("y", y);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y, ElementsAre(20, 10, 0));
  EXPECT_GT(caller.calls, 0);

  options.arena_bytes = 64;
  Loaded cramped(tests::matmul_relu_plan().plan, tests::Way::kMap, &options);
  const int64_t dims[] = {1, 4};
  EXPECT_EQ(pw_context_set_input_shape(cramped.context(), "x", dims, 2), PW_RESOURCE);
  EXPECT_THAT(pw_last_error(), HasSubstr("arena given has 64 bytes"));
}

TEST(Run, TellsTheHookOfEveryStep) {
  std::vector<std::string> layers;
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.layer_hook_user = &layers;
  options.layer_hook = [](void* user, const pw_layer_event* event) {
    EXPECT_LE(event->start_ms, event->end_ms);
    static_cast<std::vector<std::string>*>(user)->push_back(event->name);
  };
  Loaded loaded(tests::matmul_relu_plan().plan, tests::Way::kMap, &options);
  const std::vector<float> x(4);
  std::vector<float> y(3);
  loaded.set_shape("x", {1, 4});
  loaded.bind("x", x);
  loaded.bind("y", y);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(layers, ElementsAre("matmul", "relu"));
}

}  // namespace
}  // namespace planwright
