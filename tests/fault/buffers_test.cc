// L17: buffers that are missing, short, misaligned or shared are refused before any kernel runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::Each;
using testing::HasSubstr;

struct Row {
  const char* name;
  const char* message;
  // x has 8 floats, y has 6; `memory` has 32, of which x is bound to the first and y to the last.
  std::function<int(pw_context*, float* memory)> bind;
};

int bind(pw_context* context, const char* name, void* data, size_t bytes) {
  return pw_context_bind(context, name, data, bytes);
}

const Row kRows[] = {
    {"NullInput", "x has no buffer: bind 32 bytes", [](pw_context* c, float*) { return bind(c, "x", nullptr, 32); }},
    {"NullOutput", "y has no buffer: bind 24 bytes", [](pw_context* c, float*) { return bind(c, "y", nullptr, 24); }},
    {"ShortInput", "buffer of x has 31 bytes, the tensor 32",
     [](pw_context* c, float* m) { return bind(c, "x", m, 31); }},
    {"ShortOutput", "buffer of y has 0 bytes, the tensor 24",
     [](pw_context* c, float* m) { return bind(c, "y", m + 26, 0); }},
    {"OutputOverInput", "output y and of x overlap", [](pw_context* c, float* m) { return bind(c, "y", m + 7, 24); }},
    {"OutputIsInput", "output y and of x overlap", [](pw_context* c, float* m) { return bind(c, "y", m, 24); }},
    {"InputOverOutput", "output y and of x overlap", [](pw_context* c, float* m) { return bind(c, "x", m + 19, 32); }},
    {"Misaligned", "not aligned to its elements of 4 bytes",
     [](pw_context* c, float* m) { return bind(c, "x", reinterpret_cast<char*>(m) + 2, 32); }},
    {"Wraps", "more than lie behind its address", [](pw_context* c, float* m) { return bind(c, "x", m, SIZE_MAX); }},
    {"UnknownName", "named z", [](pw_context* c, float* m) { return bind(c, "z", m, 32); }},
    {"NullName", "name is NULL", [](pw_context* c, float* m) { return bind(c, nullptr, m, 32); }},
};

class Buffers : public testing::TestWithParam<Row> {};

TEST_P(Buffers, AreRefused) {
  tests::Loaded loaded(tests::matmul_relu_plan().plan);
  std::vector<float> memory(32, 5.0f);
  loaded.set_shape("x", {2, 4});
  ASSERT_EQ(bind(loaded.context(), "x", memory.data(), 32), PW_OK);
  ASSERT_EQ(bind(loaded.context(), "y", memory.data() + 26, 24), PW_OK);
  int status = GetParam().bind(loaded.context(), memory.data());
  // What bind can see it refuses itself, and then what was bound before stands.
  const bool seen_by_bind = status != PW_OK;
  if (!seen_by_bind) status = pw_context_run(loaded.context());
  EXPECT_EQ(status, PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr(GetParam().message));
  EXPECT_THAT(memory, Each(5.0f)) << "something ran";
  if (seen_by_bind) {
    EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Buffers, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

TEST(BuffersSharing, InputsMayShareAndOutputsMayTouch) {
  tests::Loaded loaded(tests::matmul_relu_plan().plan);
  std::vector<float> memory(14, 1.0f);
  loaded.set_shape("x", {2, 4});
  ASSERT_EQ(bind(loaded.context(), "y", memory.data(), 24), PW_OK);
  ASSERT_EQ(bind(loaded.context(), "x", memory.data() + 6, 32), PW_OK);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
}

// A larger buffer may reach into another one's: only the tensor's bytes count.
TEST(BuffersSharing, OnlyTheTensorsBytesCount) {
  tests::Loaded loaded(tests::matmul_relu_plan().plan);
  std::vector<float> memory(64, 1.0f);
  loaded.set_shape("x", {8, 4});
  ASSERT_EQ(bind(loaded.context(), "x", memory.data(), 64 * 4), PW_OK);
  ASSERT_EQ(bind(loaded.context(), "y", memory.data() + 32, 24 * 4), PW_OK);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
}

// A buffer that was large enough is looked at again when the shape grows.
TEST(BuffersSharing, AGrownShapeChecksAgain) {
  tests::Loaded loaded(tests::matmul_relu_plan().plan);
  std::vector<float> x(8), y(6);
  loaded.set_shape("x", {2, 4});
  loaded.bind("x", x);
  loaded.bind("y", y);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  loaded.set_shape("x", {4, 4});
  EXPECT_EQ(pw_context_run(loaded.context()), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("buffer of x has 32 bytes, the tensor 64"));
}

}  // namespace
}  // namespace planwright
