// Setting shapes: profiles, agreement between inputs, guards, and what stands after a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loaded.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::Loaded;

int set(const Loaded& loaded, const char* name, const std::vector<int64_t>& dims) {
  return pw_context_set_input_shape(loaded.context(), name, dims.data(), dims.size());
}

int32_t profile_of(const Loaded& loaded) {
  pw_context_info info;
  info.struct_size = sizeof info;
  EXPECT_EQ(pw_context_get_info(loaded.context(), &info), PW_OK);
  return info.profile;
}

TEST(Shapes, RefusesWhatIsNoShapeOfTheInput) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  EXPECT_EQ(set(loaded, "z", {1, 4}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), AllOf(HasSubstr("named z"), HasSubstr("x, y")));
  EXPECT_EQ(set(loaded, "y", {1, 3}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("y is an output"));
  EXPECT_EQ(set(loaded, "x", {4}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("input x has 2 dims, not 1"));
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{9, 4}, {0, 4}, {-1, 4}, {2, 5}, {INT64_MAX, 4}, {INT64_MIN, INT64_MIN}}) {
    EXPECT_EQ(set(loaded, "x", dims), PW_INVALID);
    EXPECT_THAT(pw_last_error(), HasSubstr("profile 0 holds 1x4 to 8x4"));
  }
  EXPECT_EQ(pw_context_set_input_shape(loaded.context(), "x", nullptr, 2), PW_INVALID);
  EXPECT_EQ(pw_context_set_input_shape(loaded.context(), nullptr, nullptr, 0), PW_INVALID);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_PRECONDITION);
  EXPECT_THAT(pw_last_error(), HasSubstr("input x has no shape"));
}

TEST(Shapes, AGuardNamesItsLayerAndBothValues) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  EXPECT_EQ(set(loaded, "x", {5, 4}), PW_INVALID);
  EXPECT_THAT(pw_last_error(),
              AllOf(HasSubstr("layer matmul"), HasSubstr("6 to be at most 5"), HasSubstr("rows come in pairs")));
}

TEST(Shapes, TheOldShapeStandsAfterAFailure) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  loaded.set_shape("x", {2, 4});
  EXPECT_EQ(set(loaded, "x", {9, 4}), PW_INVALID);
  EXPECT_THAT(loaded.shape("y"), ElementsAre(2, 3));
  EXPECT_EQ(set(loaded, "x", {7, 4}), PW_INVALID);  // the guard
  EXPECT_THAT(loaded.shape("y"), ElementsAre(2, 3));
  const std::vector<float> x(8);
  std::vector<float> y(6);
  loaded.bind("x", x);
  loaded.bind("y", y);
  EXPECT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
}

// Shapes up to opt have places of their own, in which nothing larger has room.
TEST(Shapes, PlacesFollowTheShapes) {
  tests::PlanBuilder builder = tests::matmul_relu_plan();
  builder.plan.guards.clear();
  planfmt::ProgramModel& program = builder.plan.programs[0];
  program.has_opt_places = true;
  for (planfmt::StorageModel& storage : program.storages) {
    if (storage.kind == planfmt::StorageKind::kArena) storage.opt_offset = 64, storage.opt_size = 2 * 3 * sizeof(float);
  }
  Loaded loaded(builder.plan);
  for (const int64_t rows : {2, 8, 1, 3, 2}) {
    loaded.set_shape("x", {rows, 4});
    const std::vector<float> x(static_cast<size_t>(rows) * 4, 1.0f);
    std::vector<float> y(static_cast<size_t>(rows) * 3);
    loaded.bind("x", x);
    loaded.bind("y", y);
    ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      EXPECT_THAT(std::vector<float>(y.begin() + static_cast<ptrdiff_t>(row * 3),
                                     y.begin() + static_cast<ptrdiff_t>(row * 3 + 3)),
                  ElementsAre(6, 2, 0));
    }
  }
}

TEST(Shapes, OutputShapeWantsRoomAndShapes) {
  Loaded loaded(tests::matmul_relu_plan().plan);
  int64_t dims[2];
  size_t rank = 2;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", dims, &rank), PW_PRECONDITION);
  loaded.set_shape("x", {4, 4});
  rank = 1;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", dims, &rank), PW_INVALID);
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", dims, nullptr), PW_INVALID);
  rank = 2;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "x", dims, &rank), PW_OK);
  EXPECT_THAT(dims, ElementsAre(4, 4));
}

// Inputs that share a symbol can only be changed one at a time.
TEST(Shapes, InputsThatMustAgreeAreSetOneAfterTheOther) {
  Loaded loaded(tests::many_steps_plan().plan);
  loaded.set_shape("x", {4, 8});
  loaded.set_shape("picks", {4, 2});
  EXPECT_THAT(loaded.shape("y"), ElementsAre(4, 2, 5));
  loaded.set_shape("x", {6, 8});
  // On the way the shapes contradict each other.
  size_t rank = 0;
  EXPECT_EQ(pw_context_output_shape(loaded.context(), "y", nullptr, &rank), PW_INVALID);
  EXPECT_THAT(pw_last_error(), AllOf(HasSubstr("dim 0 of input picks is 4"), HasSubstr("needs 6")));
  loaded.set_shape("picks", {6, 2});
  EXPECT_THAT(loaded.shape("y"), ElementsAre(6, 2, 5));
}

TEST(Shapes, TheLastInputThatContradictsIsRefused) {
  Loaded loaded(tests::many_steps_plan().plan);
  loaded.set_shape("x", {4, 8});
  EXPECT_EQ(set(loaded, "picks", {5, 2}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("input picks"));
  EXPECT_EQ(pw_context_run(loaded.context()), PW_PRECONDITION);
  loaded.set_shape("picks", {4, 2});
  EXPECT_THAT(loaded.shape("y"), ElementsAre(4, 2, 5));
}

// A second profile for more rows, a third that only differs from it in place.
planfmt::PlanModel three_profiles() {
  tests::PlanBuilder builder = tests::matmul_relu_plan();
  builder.plan.profiles.resize(3, builder.plan.profiles[0]);
  for (size_t profile : {1, 2}) {
    builder.plan.profiles[profile].inputs[0].opt = {10, 4};
    builder.plan.profiles[profile].inputs[0].max = {20, 4};
    builder.plan.programs.push_back(builder.plan.programs[0]);
    builder.plan.programs.back().profile = static_cast<uint32_t>(profile);
    builder.plan.programs.back().arena_size = builder.plan.programs.back().storages.back().size = 20 * 3 * 4;
  }
  builder.plan.symbols[0].max = 20;
  return builder.plan;
}

TEST(Shapes, TheTightestProfileIsPicked) {
  Loaded loaded(three_profiles());
  EXPECT_EQ(profile_of(loaded), -1);
  loaded.set_shape("x", {4, 4});
  EXPECT_EQ(profile_of(loaded), 0);
  loaded.set_shape("x", {10, 4});
  EXPECT_EQ(profile_of(loaded), 1);
  EXPECT_EQ(set(loaded, "x", {21, 4}), PW_INVALID);
  EXPECT_THAT(pw_last_error(), HasSubstr("no other profile holds it either"));
}

TEST(Shapes, OneProfileCanBeAskedFor) {
  pw_context_options options = {};
  options.struct_size = sizeof options;
  options.profile = 3;
  Loaded loaded(three_profiles(), tests::Way::kMap, &options);
  loaded.set_shape("x", {4, 4});
  EXPECT_EQ(profile_of(loaded), 2);
  options.profile = 4;
  pw_context* context = nullptr;
  EXPECT_EQ(pw_context_create(loaded.engine(), &options, &context), PW_INVALID);
  EXPECT_EQ(context, nullptr);
}

TEST(Shapes, AStaticInputNeedsNoShape) {
  tests::PlanBuilder builder = tests::matmul_relu_plan();
  builder.plan.profiles[0].inputs[0] = {0, {2, 4}, {2, 4}, {2, 4}, {}, {}, {}};
  Loaded loaded(builder.plan);
  EXPECT_THAT(loaded.shape("y"), ElementsAre(2, 3));
  loaded.set_shape("x", {2, 4});
  EXPECT_EQ(set(loaded, "x", {3, 4}), PW_INVALID);
}

}  // namespace
}  // namespace planwright
