// Plugins are registered by any thread, while others open engines.
#include <gtest/gtest.h>

#include <thread>

#include "tests/plugin/operators.h"
#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

TEST(RegisterPlugin, ByManyThreadsWhileEnginesOpen) {
  ASSERT_EQ(tests::add_operators({tests::positive_operator()}), PW_OK);
  tests::PlanBuilder builder;
  const uint32_t four = builder.constant(4);
  const int32_t x = builder.input("x", DType::kF32, {four}, {4}, {4}, {4});
  const int32_t y = builder.output("y", DType::kF32, {four});
  builder.step("plugin:test::Positive", OpKind::kCustom, {x}, {y}, "check");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        // Two threads at a time register the same.
        const std::string name = "Threads" + std::to_string(i + t / 2 * 20);
        EXPECT_EQ(tests::add_operators({tests::plain_operator(name.c_str())}), PW_OK) << pw_last_error();
        if (i % 5 == 0) tests::Loaded{builder.plan};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace planwright
