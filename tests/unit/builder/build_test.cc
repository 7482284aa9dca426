#include "builder/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "builder/emit.h"
#include "builder/passes/passes.h"
#include "builder/storage.h"
#include "tests/support/built_engine.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::BuiltEngine;
using planwright::testing::expect_near;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using planwright::testing::untimed_options;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void make_network(GraphBuilder& b) {
  const Dim h = b.symbol("h", 4, 64, 0, 2);
  const ValueId x = b.input("x", {1, 3, h, 16});
  const ValueId w = b.weights("w", {8, 8, 3, 3});
  const ValueId a = b.relu("a", b.conv("c0", x, b.weights("w0", {8, 3, 3, 3}), 1));
  const ValueId c = b.relu("c", b.conv("c1", a, w, 1));
  const ValueId d = b.relu("d", b.conv("c2", c, w, 1));
  b.output(b.reshape("y", b.reduce("pooled", ReduceKind::kMean, d, 0b1100), {8}));
}

std::string message_of(const std::function<void()>& call, StatusCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "nothing was thrown";
}

std::string file_of(const planfmt::PlanModel& plan) {
  const std::string path = ::testing::TempDir() + "planwright_build_test_" + std::to_string(getpid());
  throw_if_error(write_engine(plan, path));
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::remove(path.c_str());
  return bytes;
}

TEST(Build, TheSameGraphGivesTheSameBytes) {
  GraphBuilder first, second;
  make_network(first);
  const std::vector<std::string> noise(1000, "so that the second graph lies at other addresses");
  make_network(second);
  const BuildOptions options = untimed_options(first.graph);
  EXPECT_EQ(file_of(build(std::move(first.graph), options).plan),
            file_of(build(std::move(second.graph), options).plan));
}

TEST(Build, OneSearchChoosesForAllProfiles) {
  GraphBuilder b;
  make_network(b);
  BuildOptions options = untimed_options(b.graph);
  options.profiles.push_back(options.profiles[0]);
  options.search.explain = true;
  std::vector<std::string> searched;
  options.begin_search = [&](const std::vector<std::string>& layers) { searched = layers; };
  const BuildResult built = build(std::move(b.graph), options);
  const size_t layers = searched.size() / 2;
  ASSERT_GT(layers, 0u);
  ASSERT_EQ(built.search.explanations.size(), searched.size());
  for (size_t i = 0; i < searched.size(); ++i) {
    EXPECT_EQ(searched[i], searched[i % layers]);
    EXPECT_EQ(built.search.explanations[i].layer, searched[i]);
    EXPECT_EQ(built.search.explanations[i].profile, i / layers);
  }
}

TEST(Build, WhatIsThrownBeforeTheSearchEndsTheBuild) {
  GraphBuilder b;
  make_network(b);
  BuildOptions options = untimed_options(b.graph);
  options.begin_search = [](const std::vector<std::string>&) { throw Error(StatusCode::kInvalid, "not this one"); };
  EXPECT_EQ(message_of([&] { build(std::move(b.graph), options); }, StatusCode::kInvalid), "not this one");
}

TEST(Build, ThePlanSaysWhatTheCallerBinds) {
  GraphBuilder b;
  make_network(b);
  const BuildOptions options = untimed_options(b.graph);
  const BuildResult built = build(std::move(b.graph), options);
  ASSERT_EQ(built.plan.bindings.size(), 2u);
  EXPECT_EQ(built.plan.bindings[0].name, "x");
  EXPECT_TRUE(built.plan.bindings[0].is_input);
  EXPECT_EQ(built.plan.bindings[1].name, "y");
  EXPECT_FALSE(built.plan.bindings[1].is_input);
  EXPECT_THAT(built.plan.profiles.at(0).inputs.at(0).max, ElementsAre(1, 3, 64, 16));
  EXPECT_EQ(built.plan.symbols.at(0).max, 64);
}

TEST(Build, EveryNodeOfTheModelIsSomeStepsWork) {
  GraphBuilder b;
  make_network(b);
  const BuildOptions options = untimed_options(b.graph);
  std::set<std::string> wanted;
  for (const ir::NodeId id : b.graph.order()) wanted.insert(b.graph.node(id).name);
  const BuildResult built = build(std::move(b.graph), options);
  std::set<std::string> found;
  for (const planfmt::StepModel& step : built.plan.programs[0].steps) found.insert(step.onnx.begin(), step.onnx.end());
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(built.onnx_nodes, static_cast<int>(wanted.size()));
}

TEST(Build, MovementIsCountedWithTheStepThatMadeItsInput) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 6});
  const ValueId a = b.relu("a", b.transpose("turned", x, {1, 0}));
  const ValueId c = b.relu("c", b.reshape("flat", b.reshape("split", a, {2, 3, 4}), {24}));
  b.output(c);
  choose_layouts(b.graph);
  make_views(b.graph);
  EXPECT_THAT(onnx_names(b.graph, steps_of(b.graph)),
              ElementsAre(ElementsAre("turned", "a", "split"), ElementsAre("flat"), ElementsAre("c")));
}

TEST(Build, EqualWeightsAreStoredOnce) {
  GraphBuilder b;
  make_network(b);
  const BuildOptions options = untimed_options(b.graph);
  const BuildResult built = build(std::move(b.graph), options);
  const auto& blobs = built.plan.weights.blobs();
  for (size_t i = 0; i < blobs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(*blobs[i], *blobs[j]);
  }
}

// Such a profile was taken, and its least shapes were refused when they were set.
TEST(Build, AMinTooSmallForALayerIsRefusedWithTheLeastThatFits) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 64, 0, 2);
  b.graph.guards.push_back({false, 3, h + 1, "window", "the window must fit its padded input"});
  b.output(b.relu("window", b.input("x", {1, 3, h, 16})));
  const BuildOptions options = untimed_options(b.graph);
  try {
    build(std::move(b.graph), options);
    ADD_FAILURE() << "it was built";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalid);
    EXPECT_THAT(error.what(), HasSubstr("min shapes do not fit layer window: the window must fit its padded input"));
    EXPECT_THAT(error.what(), HasSubstr("input x needs at least 2 at axis 2: raise it with --minShapes"));
  }
}

TEST(Build, TheArenaHoldsTheProfilesLargestShapes) {
  uint64_t arena[2];
  for (const int64_t max : {32, 64}) {
    GraphBuilder b;
    make_network(b);
    BuildOptions options = untimed_options(b.graph);
    options.profiles[0].inputs[0].opt[2] = 8;
    options.profiles[0].inputs[0].max[2] = max;
    const BuildResult built = build(std::move(b.graph), options);
    EXPECT_GE(built.programs[0].arena_bytes, built.programs[0].arena_lower_bound);
    EXPECT_LE(static_cast<double>(built.programs[0].arena_bytes),
              1.03 * static_cast<double>(built.programs[0].arena_lower_bound));
    arena[max / 64] = built.plan.programs[0].arena_size;
  }
  EXPECT_LT(arena[0], arena[1]);
}

// The engine is as fast at opt as one that is built for opt alone: its memory lies as close together there.
TEST(Build, ShapesUpToOptLieCloserTogether) {
  const auto program_up_to = [](int64_t max) {
    GraphBuilder b;
    ValueId x = b.input("x", {1, 8, b.symbol("h", 4, 1024, 0, 2), 64});
    const ValueId w = b.weights("w", {8, 8, 3, 3});
    for (const char* name : {"a", "b", "c", "d"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, w, 1));
    b.output(x);
    BuildOptions options = untimed_options(b.graph);
    options.profiles[0].inputs[0].opt[2] = 128;
    options.profiles[0].inputs[0].max[2] = max;
    return build(std::move(b.graph), options).plan.programs[0];
  };
  const planfmt::ProgramModel program = program_up_to(1024), of_opt = program_up_to(128);
  EXPECT_FALSE(of_opt.has_opt_places);
  ASSERT_TRUE(program.has_opt_places);
  uint64_t end = 0;
  for (const planfmt::StorageModel& storage : program.storages) {
    if (storage.kind == planfmt::StorageKind::kArena) end = std::max(end, storage.opt_offset + storage.opt_size);
  }
  EXPECT_LE(end, of_opt.arena_size);
  EXPECT_LT(end, program.arena_size);
}

TEST(Build, EachProfileGetsAProgram) {
  GraphBuilder b, reference;
  make_network(b);
  make_network(reference);
  BuildOptions options = untimed_options(b.graph);
  options.profiles.push_back(options.profiles[0]);
  options.profiles[0].inputs[0].max[2] = options.profiles[0].inputs[0].opt[2] = 16;
  options.profiles[1].inputs[0].min[2] = 17;
  const BuildResult built = build(std::move(b.graph), options);
  ASSERT_EQ(built.plan.programs.size(), 2u);
  EXPECT_LT(built.programs[0].arena_bytes, built.programs[1].arena_bytes);
  const BuiltEngine engine(built.plan);
  for (const int64_t height : {4, 16, 17, 64}) {
    const std::vector<ir::Tensor> inputs = {random_tensor({1, 3, height, 16}, 1)};
    expect_near(engine.run(inputs)[0], interpret(reference.graph, inputs)[0], 1e-4, std::to_string(height));
  }
}

TEST(Build, AnyNumberOfThreadsGivesTheSameBits) {
  GraphBuilder b;
  make_network(b);
  const BuildOptions options = untimed_options(b.graph);
  const BuiltEngine engine(build(std::move(b.graph), options).plan);
  const std::vector<ir::Tensor> inputs = {random_tensor({1, 3, 64, 16}, 1)};
  const ir::Bytes one = engine.run(inputs, 1)[0].data;
  for (const int threads : {2, 3}) EXPECT_EQ(engine.run(inputs, threads)[0].data, one);
}

TEST(Build, ShapesThatBreakAGuardAreRefusedByName) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 64, 0, 0);
  const ValueId x = b.input("x", {h});
  b.output(b.reshape("y", b.relu("a", x), {floor_div(h, 4), 4}));
  b.graph.guards.push_back({true, floor_div(h, 4) * 4, h, "y", "Reshape keeps the number of elements"});
  BuildOptions options = untimed_options(b.graph);
  options.profiles[0].inputs[0].opt[0] = 32;
  const BuiltEngine engine(build(std::move(b.graph), options).plan);
  EXPECT_EQ(engine.run({random_tensor({12}, 1)})[0].dims, (std::vector<int64_t>{3, 4}));
  try {
    engine.run({random_tensor({13}, 1)});
    ADD_FAILURE() << "13 elements are no rows of four";
  } catch (const pw::Failure& failure) {
    EXPECT_EQ(failure.status(), PW_INVALID);
    EXPECT_THAT(failure.what(), HasSubstr("y"));
  }
}

TEST(Build, AnOptThatBreaksAGuardIsRefused) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 64, 0, 0);
  b.output(b.relu("a", b.input("x", {h})));
  b.graph.guards.push_back({true, floor_div(h, 4) * 4, h, "the_layer", "Reshape keeps the number of elements"});
  BuildOptions options = untimed_options(b.graph);
  options.profiles[0].inputs[0].opt[0] = 13;
  const std::string message = message_of([&] { build(std::move(b.graph), options); }, StatusCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("the_layer"));
  EXPECT_THAT(message, HasSubstr("--optShapes"));
}

// The engine was built, and then could not be opened.
TEST(Build, AnOptThatGivesASharedDimTwoLengthsIsRefused) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 8, 0, 0);
  const ValueId x = b.input("x", {n, 3}), z = b.input("z", {n, 3});
  b.output(b.relu("y", x));
  b.output(b.relu("u", z));
  BuildOptions options = untimed_options(b.graph);
  options.profiles[0].inputs[0].opt[0] = 4;
  options.profiles[0].inputs[1].opt[0] = 5;
  const std::string message = message_of([&] { build(std::move(b.graph), options); }, StatusCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("input z, axis 0 is n"));
  EXPECT_THAT(message, HasSubstr("--optShapes"));
}

TEST(Build, AProfileOfAnotherShapeIsRefused) {
  GraphBuilder b;
  b.output(b.relu("a", b.input("x", {4, 5})));
  const BuildOptions sound = untimed_options(b.graph);
  BuildOptions options = sound;
  options.profiles[0].inputs[0].max[1] = 6;
  EXPECT_THAT(message_of([&] { Box(b.graph, options.profiles[0]); }, StatusCode::kInvalid), HasSubstr("axis 1 is 5"));
  options = sound;
  options.profiles[0].inputs[0].min = {4};
  EXPECT_THAT(message_of([&] { Box(b.graph, options.profiles[0]); }, StatusCode::kInvalid), HasSubstr("input x"));
  options = sound;
  options.profiles[0].inputs.clear();
  EXPECT_THAT(message_of([&] { Box(b.graph, options.profiles[0]); }, StatusCode::kInvalid), HasSubstr("1 inputs"));
}

TEST(Build, SizesThatOverflowAreRefusedByName) {
  GraphBuilder b;
  const int64_t huge = int64_t{1} << 31;
  const Dim n = b.symbol("n", 1, huge, 0, 0), m = b.symbol("m", 1, huge, 0, 1);
  const ValueId x = b.input("x", {n, m});
  b.output(b.reduce("y", ReduceKind::kSum, b.relu("large", x), 0b11));
  BuildOptions options = untimed_options(b.graph);
  options.profiles[0].inputs[0].opt = {2, 2};
  const std::string message = message_of([&] { build(std::move(b.graph), options); }, StatusCode::kResource);
  EXPECT_THAT(message, HasSubstr("--maxShapes"));
}

}  // namespace
}  // namespace planwright::builder
