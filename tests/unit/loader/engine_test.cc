// What an engine says of itself, and what the C functions do with arguments that are no use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/types/status.h"
#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Loaded;

TEST(Engine, NamesItsBindings) {
  Loaded loaded(tests::many_steps_plan().plan);
  std::vector<std::string> names;
  for (size_t i = 0; i < pw_engine_binding_count(loaded.engine()); ++i) {
    pw_binding binding;
    ASSERT_EQ(pw_engine_binding(loaded.engine(), i, &binding), PW_OK);
    EXPECT_EQ(binding.is_input, i < 2);
    names.push_back(binding.name);
  }
  EXPECT_THAT(names, ElementsAre("x", "picks", "y", "places"));
  pw_binding y;
  ASSERT_EQ(pw_engine_binding(loaded.engine(), 2, &y), PW_OK);
  EXPECT_EQ(y.dtype, PW_FLOAT32);
  EXPECT_EQ(y.rank, 3u);
  EXPECT_THAT(std::vector<int64_t>(y.dims, y.dims + 3), ElementsAre(-1, 2, 5));
  EXPECT_EQ(pw_engine_binding(loaded.engine(), 4, &y), PW_INVALID);
}

TEST(Engine, TellsItsProfilesStepsAndOrigin) {
  Loaded loaded(tests::many_steps_plan().plan);
  EXPECT_EQ(pw_engine_profile_count(loaded.engine()), 1u);
  int64_t min[8], opt[8], max[8];
  size_t rank;
  ASSERT_EQ(pw_engine_profile(loaded.engine(), 0, "x", min, opt, max, &rank), PW_OK);
  EXPECT_EQ(rank, 2u);
  EXPECT_THAT((std::vector<int64_t>{min[0], opt[0], max[0], min[1], opt[1], max[1]}), ElementsAre(1, 4, 8, 8, 8, 8));
  EXPECT_EQ(pw_engine_profile(loaded.engine(), 0, "x", nullptr, nullptr, nullptr, &rank), PW_OK);
  EXPECT_EQ(pw_engine_profile(loaded.engine(), 0, "y", min, opt, max, &rank), PW_INVALID);
  EXPECT_EQ(pw_engine_profile(loaded.engine(), 1, "x", min, opt, max, &rank), PW_INVALID);

  ASSERT_EQ(pw_engine_step_count(loaded.engine(), 0), 5u);
  EXPECT_EQ(pw_engine_step_count(loaded.engine(), 1), 0u);
  pw_step_info step;
  ASSERT_EQ(pw_engine_step(loaded.engine(), 0, 3, &step), PW_OK);
  EXPECT_STREQ(step.name, "conv");
  EXPECT_STREQ(step.op, "Conv");
  EXPECT_STREQ(step.tactic, "reference_conv");
  EXPECT_EQ(pw_engine_step(loaded.engine(), 0, 5, &step), PW_INVALID);

  pw_engine_info info;
  info.struct_size = sizeof info;
  ASSERT_EQ(pw_engine_get_info(loaded.engine(), &info), PW_OK);
  EXPECT_STREQ(info.producer, "Planwright test");
  EXPECT_STREQ(info.device, "test device");
  EXPECT_EQ(info.same_device, 0);
  EXPECT_EQ(info.tuned_threads, 1);
  EXPECT_EQ(info.weight_bytes, 24u);
  EXPECT_GT(info.open_ms, 0);
  EXPECT_STREQ(info.note, "");
}

TEST(Engine, ItsNoteIsItsBuilders) {
  tests::PlanBuilder noted = tests::matmul_relu_plan();
  noted.plan.note = "int8: all of it";
  const Loaded loaded(noted.plan);
  pw_engine_info info;
  info.struct_size = sizeof info;
  ASSERT_EQ(pw_engine_get_info(loaded.engine(), &info), PW_OK);
  EXPECT_STREQ(info.note, "int8: all of it");
  // A caller that was compiled when engines had no notes.
  info.struct_size = offsetof(pw_engine_info, note);
  info.note = "untouched";
  ASSERT_EQ(pw_engine_get_info(loaded.engine(), &info), PW_OK);
  EXPECT_STREQ(info.note, "untouched");
}

TEST(Engine, TheNumbersOfStatusesAreTheLibrarys) {
  EXPECT_EQ(PW_PRECONDITION + 1, kStatusCodeCount);
  for (const auto& [number, name] : {std::pair(PW_OK, "OK"),
                                     {PW_INVALID, "INVALID"},
                                     {PW_UNSUPPORTED, "UNSUPPORTED"},
                                     {PW_CORRUPT, "CORRUPT"},
                                     {PW_INCOMPATIBLE, "INCOMPATIBLE"},
                                     {PW_RESOURCE, "RESOURCE"},
                                     {PW_IO, "IO"},
                                     {PW_CANCELLED, "CANCELLED"},
                                     {PW_PRECONDITION, "PRECONDITION"}}) {
    EXPECT_STREQ(name_of(static_cast<StatusCode>(number)), name);
  }
  EXPECT_EQ(PW_BOOL, static_cast<int>(DType::kBool));
  EXPECT_EQ(PW_FLOAT8_E4M3FN, static_cast<int>(DType::kF8E4M3FN));
  EXPECT_EQ(PW_FLOAT8_E4M3FNUZ, static_cast<int>(DType::kF8E4M3FNUZ));
  EXPECT_EQ(PW_FLOAT8_E5M2, static_cast<int>(DType::kF8E5M2));
  EXPECT_EQ(PW_FLOAT8_E5M2FNUZ, static_cast<int>(DType::kF8E5M2FNUZ));
  EXPECT_EQ(PW_FLOAT8_E8M0, static_cast<int>(DType::kF8E8M0));
  EXPECT_EQ(PW_FLOAT6_E2M3, static_cast<int>(DType::kF6E2M3));
  EXPECT_EQ(PW_FLOAT6_E3M2, static_cast<int>(DType::kF6E3M2));
  EXPECT_EQ(PW_FLOAT4_E2M1, static_cast<int>(DType::kF4E2M1));
  EXPECT_EQ(PW_INT4, static_cast<int>(DType::kI4));
  EXPECT_EQ(PW_UINT4, static_cast<int>(DType::kU4));
  EXPECT_EQ(PW_INT2, static_cast<int>(DType::kI2));
  EXPECT_EQ(PW_UINT2, static_cast<int>(DType::kU2));
  EXPECT_EQ(PW_UINT2 + 1, kDTypeCount);
  EXPECT_EQ(PW_MAX_RANK, kMaxRank);
}

TEST(Engine, NullArgumentsAreInvalid) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  pw_engine* engine = nullptr;
  pw_context* context = nullptr;
  EXPECT_EQ(pw_engine_open(nullptr, nullptr, &engine), PW_INVALID);
  EXPECT_EQ(pw_engine_open("x", nullptr, nullptr), PW_INVALID);
  EXPECT_EQ(pw_engine_open_memory(nullptr, 128, nullptr, &engine), PW_INVALID);
  EXPECT_EQ(pw_engine_binding(nullptr, 0, nullptr), PW_INVALID);
  EXPECT_EQ(pw_engine_binding_count(nullptr), 0u);
  EXPECT_EQ(pw_engine_profile_count(nullptr), 0u);
  EXPECT_EQ(pw_engine_step_count(nullptr, 0), 0u);
  EXPECT_EQ(pw_engine_get_info(nullptr, nullptr), PW_INVALID);
  EXPECT_EQ(pw_engine_get_info(loaded.engine(), nullptr), PW_INVALID);
  EXPECT_EQ(pw_context_create(nullptr, nullptr, &context), PW_INVALID);
  EXPECT_EQ(pw_context_create(loaded.engine(), nullptr, nullptr), PW_INVALID);
  EXPECT_EQ(pw_context_run(nullptr), PW_INVALID);
  EXPECT_EQ(pw_context_bind(nullptr, "x", nullptr, 0), PW_INVALID);
  pw_engine_close(nullptr);
  pw_context_destroy(nullptr);
}

TEST(Engine, OptionsOfAnyCallersSize) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  pw_context* context = nullptr;
  // A caller that was compiled when there was only `threads`.
  struct {
    size_t struct_size = 16;
    int32_t threads = 1;
    int32_t beyond = 77;
  } old;
  old.struct_size = offsetof(pw_context_options, profile);
  ASSERT_EQ(pw_context_create(loaded.engine(), reinterpret_cast<pw_context_options*>(&old), &context), PW_OK)
      << pw_last_error();
  pw_context_destroy(context);
  pw_context_options unset = {};
  EXPECT_EQ(pw_context_create(loaded.engine(), &unset, &context), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("struct_size"));
  pw_context_options many = {};
  many.struct_size = sizeof many;
  for (const int32_t threads : {-1, 257}) {
    many.threads = threads;
    EXPECT_EQ(pw_context_create(loaded.engine(), &many, &context), PW_INVALID) << threads;
  }
  many.threads = 1;
  many.arena = reinterpret_cast<void*>(uintptr_t{8});
  EXPECT_EQ(pw_context_create(loaded.engine(), &many, &context), PW_INVALID);
}

// L19.
TEST(Engine, LivesAsLongAsItsContexts) {
  tests::Aligned bytes(tests::engine_bytes(tests::matmul_relu_plan().plan));
  pw_engine* engine = nullptr;
  pw_context* context = nullptr;
  ASSERT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK);
  ASSERT_EQ(pw_context_create(engine, nullptr, &context), PW_OK);
  pw_engine_close(engine);
  const int64_t dims[] = {1, 4};
  float x[4] = {1, 2, 3, 4}, y[3];
  ASSERT_EQ(pw_context_set_input_shape(context, "x", dims, 2), PW_OK);
  ASSERT_EQ(pw_context_bind(context, "x", x, sizeof x), PW_OK);
  ASSERT_EQ(pw_context_bind(context, "y", y, sizeof y), PW_OK);
  ASSERT_EQ(pw_context_run(context), PW_OK);
  EXPECT_THAT(y, ElementsAre(20, 10, 0));
  pw_context_destroy(context);
}

}  // namespace
}  // namespace planwright
