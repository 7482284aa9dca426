// L18: one engine in many threads; one context in two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs `count` shapes in a context of its own, with `threads` workers; counts wrong results.
void run_many(pw_engine* engine, int32_t threads, int count, std::atomic<int>* wrong) {
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  pw_context* context = nullptr;
  if (pw_context_create(engine, &options, &context) != PW_OK) {
    ++*wrong;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int64_t rows = i % 2 == 0 ? 2 : 8;
    const int64_t dims[] = {rows, 4};
    std::vector<float> x(static_cast<size_t>(rows) * 4, 1.0f), y(static_cast<size_t>(rows) * 3);
    const bool ran = pw_context_set_input_shape(context, "x", dims, 2) == PW_OK &&
                     pw_context_bind(context, "x", x.data(), x.size() * 4) == PW_OK &&
                     pw_context_bind(context, "y", y.data(), y.size() * 4) == PW_OK && pw_context_run(context) == PW_OK;
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
      *wrong += !ran || y[3 * row] != 6 || y[3 * row + 1] != 2;
  }
  pw_context_destroy(context);
}

TEST(Contexts, OneEngineServesManyThreads) {
  tests::Loaded loaded(tests::matmul_relu_plan().plan);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { run_many(loaded.engine(), 1 + i % 2, 50, &wrong); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Contexts, AnEngineMayBeClosedWhileOthersUseIt) {
  tests::Aligned bytes(tests::engine_bytes(tests::matmul_relu_plan().plan));
  for (int round = 0; round < 10; ++round) {
    pw_engine* engine = nullptr;
    ASSERT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK);
    pw_context* contexts[3];
    for (pw_context*& context : contexts) ASSERT_EQ(pw_context_create(engine, nullptr, &context), PW_OK);
    std::vector<std::thread> threads;
    threads.emplace_back([engine] { pw_engine_close(engine); });
    for (pw_context* context : contexts) {
      threads.emplace_back([context] { pw_context_destroy(context); });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// The second caller is told, whichever call it makes, and the first is not disturbed.
TEST(Contexts, OneContextRefusesASecondCaller) {
  struct Meeting {
    pw_context* context = nullptr;
    int second = PW_OK;
    std::string message;
    static void parallel_for(void* user, int64_t tasks, void (*task)(void*, int64_t, int), void* task_context) {
      auto* meeting = static_cast<Meeting*>(user);
      std::thread([meeting] {
        meeting->second = pw_context_run(meeting->context);
        meeting->message = pw_last_error();
      }).join();
      for (int64_t i = 0; i < tasks; ++i) task(task_context, i, 0);
    }
  } meeting;
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.parallel_for = Meeting::parallel_for;
  options.parallel_for_user = &meeting;
  tests::Loaded loaded(tests::matmul_relu_plan().plan, tests::Way::kMap, &options);
  meeting.context = loaded.context();
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(3);
  loaded.set_shape("x", {1, 4});
  loaded.bind("x", x);
  loaded.bind("y", y);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y, ElementsAre(20, 10, 0));
  EXPECT_EQ(meeting.second, PW_PRECONDITION);
  EXPECT_THAT(meeting.message, HasSubstr("another call on this context"));
}

}  // namespace
}  // namespace planwright
