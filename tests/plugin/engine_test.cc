// Custom operators in engines: right at every shape and thread count, among other operators, and never trusted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/plugins.h"
#include "tests/plugin/operators.h"
#include "tests/support/built_engine.h"
#include "tests/support/loaded.h"
#include "tests/support/onnx_text.h"

namespace planwright {
namespace {

using builder::Failure;
using builder::failure_of;
using builder::floats;
using planwright::testing::BuiltEngine;
using ::testing::HasSubstr;

// "graph" as in onnx_text.h; domains com.example (docs/examples) and test (operators.h).
builder::OnnxModel model_of(const std::string& graph) {
  return builder::OnnxModel::from_proto(
      builder::parse_text("<ir_version: 8, opset_import: [\"\" : 17, \"com.example\" : 1, \"test\" : 1]> g " + graph));
}

builder::BuildResult build(const std::string& graph, int64_t low = 1, int64_t high = 64, int level = 0) {
  const builder::OnnxModel model = model_of(graph);
  builder::BuildOptions options;
  options.profiles = {builder::profile_of(model, low, high)};
  options.search.isa = detect_isa();
  options.search.optimization_level = level;
  options.search.threads = 2;
  return builder::build(builder::import_model(model, options.profiles), options);
}

Failure build_failure(const std::string& graph, int level = 0) {
  return failure_of([&] { build(graph, 1, 64, level); });
}

Failure run_failure(const BuiltEngine& engine, const std::vector<ir::Tensor>& inputs, int threads = 1) {
  try {
    engine.run(inputs, threads);
    return {};
  } catch (const pw::Failure& failure) {
    return {static_cast<StatusCode>(failure.status()), failure.what()};
  }
}

class CustomOperators : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    apps::load_plugins({WINDOW_MEAN});
    ASSERT_EQ(tests::add_operators({tests::sums_operator(), tests::positive_operator(), tests::crashing_operator(),
                                    tests::faulty_operator()}),
              PW_OK)
        << pw_last_error();
  }
};

// The means of WindowMean along the last axis of x.
ir::Tensor window_means(const ir::Tensor& x, int64_t size, int64_t stride) {
  const std::vector<float> in = builder::elements_of<float>(x);
  std::vector<int64_t> dims = x.dims;
  const int64_t length = dims.back(), steps = (length - size) / stride + 1;
  dims.back() = steps;
  std::vector<float> out;
  for (int64_t row = 0; row < static_cast<int64_t>(in.size()) / length; ++row) {
    for (int64_t i = 0; i < steps; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < size; ++k)
        sum += static_cast<double>(in[static_cast<size_t>(row * length + i * stride + k)]);
      out.push_back(static_cast<float>(sum / static_cast<double>(size)));
    }
  }
  return floats(dims, out);
}

ir::Tensor counting(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * i % 97) - 40);
  return floats(dims, values);
}

TEST_F(CustomOperators, ComputeTheirShapesAndValuesAtAnyShapeAndThreadCount) {
  const BuiltEngine engine(
      build("(float[n, h] x) => (float[n, v] y) { y = com.example.WindowMean<size = 3, stride = 2>(x) }", 3).plan);
  for (const auto& dims : std::vector<std::vector<int64_t>>{{3, 3}, {64, 64}, {17, 8}, {33, 21}}) {
    const ir::Tensor x = counting(dims), want = window_means(x, 3, 2);
    const ir::Tensor one = engine.run({x}, 1)[0], two = engine.run({x}, 2)[0];
    EXPECT_EQ(one.dims, want.dims);
    EXPECT_EQ(one.data, want.data);
    EXPECT_EQ(two.data, one.data);
  }
}

// What surrounds a custom operator may lie anyhow; its own operands are dense.
TEST_F(CustomOperators, StandAmongTransposesSlicesAndConcats) {
  const BuiltEngine engine(build("(float[n, c, h] x) => (float[m, c, v] y, float[n, w, c] z) <int64[1] one = {1}, "
                                 "int64[1] end = {99}, int64[1] axis = {1}> {"
                                 "t = Transpose<perm = [0, 2, 1]>(x) s = Slice(t, one, end, axis)"
                                 "z0 = com.example.WindowMean<size = 1>(s) z = Relu(z0)"
                                 "a = com.example.WindowMean<size = 2>(x) r = Relu(a)"
                                 "y = Concat<axis = 0>(r, a) }",
                                 3, 9)
                               .plan);
  const ir::Tensor x = counting({3, 4, 5});
  const std::vector<ir::Tensor> got = engine.run({x}, 2);
  std::vector<float> joined;
  const std::vector<float> means = builder::elements_of<float>(window_means(x, 2, 1));
  for (const float value : means) joined.push_back(std::max(value, 0.0f));
  joined.insert(joined.end(), means.begin(), means.end());
  EXPECT_EQ(builder::elements_of<float>(got[0]), joined);
  const std::vector<float> in = builder::elements_of<float>(x);
  std::vector<float> turned;
  for (size_t n = 0; n < 3; ++n) {
    for (size_t h = 1; h < 5; ++h) {
      for (size_t c = 0; c < 4; ++c) turned.push_back(std::max(in[(n * 4 + c) * 5 + h], 0.0f));
    }
  }
  EXPECT_EQ(builder::elements_of<float>(got[1]), turned);
}

// A Concat along the last axis cannot be written in place by what writes dense rows.
TEST_F(CustomOperators, AreCopiedIntoInterleavedSlots) {
  const BuiltEngine engine(build("(float[n, h] x) => (float[n, v] y) { a = com.example.WindowMean<size = 2>(x) "
                                 "r = Relu(x) y = Concat<axis = 1>(a, r) }",
                                 2, 9)
                               .plan);
  const std::vector<float> got = builder::elements_of<float>(engine.run({floats({2, 3}, {1, 3, 5, -2, 4, 6})})[0]);
  EXPECT_EQ(got, (std::vector<float>{2, 4, 1, 3, 5, 1, 5, 0, 4, 6}));
}

TEST_F(CustomOperators, RunInBodies) {
  const BuiltEngine engine(
      build("(float[n, h] x) => (float[n, h] y) <int64 trips = {3}, bool yes = {1}> {"
            "y = Loop(trips, yes, x) <body = b (int64 i, bool go, float[n, h] s) => (bool on, float[n, h] r) {"
            "on = Identity(go) p = test.Positive(s) r = Add(p, p) }> }")
          .plan);
  EXPECT_EQ(builder::elements_of<float>(engine.run({floats({1, 2}, {1, 3})})[0]), (std::vector<float>{8, 24}));
}

TEST_F(CustomOperators, HaveOptionalOperandsOtherTypesAndWorkspace) {
  const std::vector<std::string> graphs = {
      "(float[n, m] x) => (double[m] y) { y = test.Sums(x) }",
      "(float[n, m] x) => (double[m] y, int64 c) { y, c = test.Sums(x) }",
      "(float[n, m] x, double[k] b) => (double[m] y) { y, unread = test.Sums(x, b) }"};
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const ir::Tensor bias = builder::tensor_of<double>(DType::kF64, {3}, {10, 20, 30});
  using Doubles = std::vector<double>;
  EXPECT_EQ(builder::elements_of<double>(BuiltEngine(build(graphs[0]).plan).run({x})[0]), (Doubles{5, 7, 9}));
  const std::vector<ir::Tensor> both = BuiltEngine(build(graphs[1]).plan).run({x});
  EXPECT_EQ(builder::elements_of<double>(both[0]), (Doubles{5, 7, 9}));
  EXPECT_EQ(builder::elements_of<int64_t>(both[1]), std::vector<int64_t>{2});
  const BuiltEngine biased(build(graphs[2]).plan);
  EXPECT_EQ(builder::elements_of<double>(biased.run({x, bias})[0]), (Doubles{15, 27, 39}));
  EXPECT_THAT(run_failure(biased, {x, builder::tensor_of<double>(DType::kF64, {2}, {1, 2})}).message,
              HasSubstr("a bias for each column"));
}

TEST_F(CustomOperators, AreSharedWhereEqualAndNeverFolded) {
  const auto steps = [](const std::string& graph) { return build(graph, 3).programs[0].steps; };
  EXPECT_EQ(steps("(float[n, h] x) => (float[n, v] y) { a = com.example.WindowMean<size = 3>(x) "
                  "b = com.example.WindowMean<size = 3>(x) y = Add(a, b) }"),
            2);
  EXPECT_EQ(steps("(float[n, h] x) => (float[n, v] y) { a = com.example.WindowMean<size = 3, stride = 2>(x) "
                  "b = com.example.WindowMean<size = 2, stride = 2>(x) y = Concat<axis = 1>(a, b) }"),
            4);  // two copies into the Concat
  // Would end this process.
  EXPECT_EQ(steps("(float[n] x) => (float[n] y) <float[1] one = {1}> { a = test.Crashing(one) y = Add(x, a) }"), 2);
}

TEST_F(CustomOperators, RefuseDataWithThePlaceThatFailsFirst) {
  const BuiltEngine engine(build("(float[n] x) => (float[n] y) { y = test.Positive(x) }").plan);
  for (const int threads : {1, 2}) {
    const Failure failure = run_failure(engine, {floats({6}, {0, 1, -2, 3, -4, -5})}, threads);
    EXPECT_EQ(failure.code, StatusCode::kPrecondition);
    EXPECT_THAT(failure.message, HasSubstr("layer y: test::Positive: element 2 is negative"));
  }
}

// ---- The builder

// The row is long enough at the profile's min and opt, and too short where a short x meets a long z.
TEST_F(CustomOperators, AGuardNamesTheLayerWhenShapesAreSet) {
  const BuiltEngine engine(build("(float[n, h] x, float[k] z) => (float[n, v] y) <int64[1] end = {99}, "
                                 "int64[1] axis = {1}, int64[1] eight = {8}> {"
                                 "length = Shape(z) first = Div(length, eight) row = Slice(x, first, end, axis)"
                                 "y = com.example.WindowMean<size = 9>(row) }",
                                 16, 64)
                               .plan);
  EXPECT_EQ(run_failure(engine, {counting({16, 16}), counting({16})}), Failure{});
  const Failure failure = run_failure(engine, {counting({16, 16}), counting({64})});
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_THAT(failure.message, HasSubstr("layer y"));
  EXPECT_THAT(failure.message, HasSubstr("the window fits the row"));
}

TEST_F(CustomOperators, AProfileWhoseMinItCannotRunIsRefused) {
  const Failure failure = failure_of(
      [] { build("(float[n, h] x) => (float[n, v] y) { y = com.example.WindowMean<size = 8>(x) }", 5, 64); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_THAT(failure.message, HasSubstr("layer y: the window fits the row"));
  EXPECT_THAT(failure.message, HasSubstr("input x needs at least 8 at axis 1"));
}

TEST_F(CustomOperators, WhatAPluginRefusesNamesTheNode) {
  struct {
    const char* graph;
    StatusCode code;
    const char* words;
  } const cases[] = {
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMean<size = 0>(x) }", StatusCode::kInvalid,
       "out (WindowMean): size and stride must be integers above 0"},
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMean<size = 1.5>(x) }", StatusCode::kInvalid,
       "out (WindowMean): size and stride must be integers above 0"},
      {"(double[n, 4] x) => (double[n, 1] out) { out = com.example.WindowMean<size = 2>(x) }", StatusCode::kUnsupported,
       "only float32 is implemented"},
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMean<size = 2, strid = 2>(x) }",
       StatusCode::kInvalid, "out (WindowMean): its plugin knows no attribute 'strid'"},
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMean<size = 2>(x, x) }", StatusCode::kInvalid,
       "out (WindowMean): it has 2 inputs, not 1 to 1"},
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMean<size = 5>(x) }", StatusCode::kInvalid,
       "out: the window fits the row: 5 is more than 4"},
      {"(float[n, 4] x) => (float[n, 1] out) { out = com.example.WindowMedian(x) }", StatusCode::kUnsupported,
       "the domain 'com.example' is not known; replace the node by ONNX's own operators, or load a plugin"},
  };
  for (const auto& one : cases) {
    const Failure failure = build_failure(one.graph);
    EXPECT_EQ(failure.code, one.code) << one.graph << ": " << failure.message;
    EXPECT_THAT(failure.message, HasSubstr(one.words)) << one.graph;
  }
}

TEST_F(CustomOperators, AFaultyShapeFunctionIsAFailureWithItsNode) {
  const std::pair<const char*, const char*> cases[] = {
      {"nothing", "its shape() does not set output 0"},
      {"a missing input", "it asks for axis 0 of input 1, which is not there"},
      {"a missing axis", "it asks for axis 7 of input 0"},
      {"a dim of its own", "there is no dim 99"},
      {"another operation", "there is no dim operation 42"},
      {"a division by zero", "it divides by 0"},
      {"an overflow", "overflows 64 bits"},
      {"what cannot hold", "one is none"},
      {"another type", "there is no type 99"},
      {"a rank", "it sets rank 9"},
      {"another output", "it sets output 1 of 1"},
      {"a refusal", "not on a Sunday"},
      {"a refusal without words", "refuses it without a reason"},
  };
  for (const auto& [does, words] : cases) {
    const Failure failure =
        build_failure(std::string("(float[n] x) => (float[n] out) { out = test.Faulty<does = \"") + does + "\">(x) }");
    EXPECT_NE(failure.code, StatusCode::kOk) << does;
    EXPECT_THAT(failure.message, HasSubstr(words)) << does;
    EXPECT_THAT(failure.message, HasSubstr("out")) << does;
  }
}

// The trial's child process ends, the builder does not.
TEST_F(CustomOperators, AKernelThatCrashesWhileTimedFailsTheBuildOnly) {
  const std::string graph = "(float[n] x) => (float[n] out) { out = test.Crashing(x) }";
  const Failure failure = build_failure(graph, 1);
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure.message;
  EXPECT_THAT(failure.message, HasSubstr("layer out (test::Crashing): its plugin's kernel crashed"));
  EXPECT_EQ(build_failure(graph, 0).code, StatusCode::kOk);
}

TEST_F(CustomOperators, AreTimedUnlessTheyRefuseMadeUpOperands) {
  const auto time = [](const std::string& graph) { return build(graph, 8, 8, 1).plan.programs[0].steps[0].time_us; };
  EXPECT_GT(time("(float[n, h] x) => (float[n, v] y) { y = com.example.WindowMean<size = 3>(x) }"), 0);
  // Floats are made up negative, too.
  EXPECT_EQ(time("(float[n, h] x) => (float[n, h] y) { y = test.Positive(x) }"), 0);
}

TEST_F(CustomOperators, GiveTheSameBytesAgain) {
  const std::string graph = "(float[n, h] x) => (float[n, v] y) { y = com.example.WindowMean<size = 3>(x) }";
  EXPECT_EQ(tests::engine_bytes(build(graph, 3).plan), tests::engine_bytes(build(graph, 3).plan));
}

// ---- The loader

TEST_F(CustomOperators, AnEngineIsRefusedByNameWithoutItsOperator) {
  planfmt::PlanModel plan =
      build("(float[n, h] x) => (float[n, v] y) { y = com.example.WindowMean<size = 3>(x) }", 3).plan;
  const auto open_failure = [&] { return failure_of([&] { const tests::Loaded loaded(plan); }); };
  ASSERT_EQ(open_failure().code, StatusCode::kOk);
  plan.kernels[0].revision = 2;
  EXPECT_EQ(open_failure().code, StatusCode::kIncompatible);
  EXPECT_THAT(open_failure().message,
              HasSubstr("needs version 2 of the custom operator com.example::WindowMean, version 1 is registered"));
  plan.kernels[0].name = "plugin:com.example::WindowMode";
  EXPECT_EQ(open_failure().code, StatusCode::kIncompatible);
  EXPECT_THAT(open_failure().message,
              HasSubstr("needs the custom operator com.example::WindowMode (version 2), which is not registered"));
}

TEST_F(CustomOperators, AHostilePlanIsRefused) {
  struct {
    const char* what;
    const char* words;
    void (*tamper)(planfmt::PlanModel&, planfmt::StepModel&);
  } const cases[] = {
      {"fewer parameters", "8 bytes of attributes, not 16",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.params.resize(8); }},
      {"no parameters", "0 bytes of attributes",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.params.clear(); }},
      {"a longer window", "the window does not fit",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.params[6] = std::byte{1}; }},
      {"a negative stride", "the window does not fit",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.params[15] = std::byte{0xFF}; }},
      {"another stride", "Y has another length",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.params[8] = std::byte{2}; }},
      {"an input more", "cannot have 2 inputs",
       [](planfmt::PlanModel&, planfmt::StepModel& step) {
         step.inputs.push_back(step.inputs[0]);
         step.core_inputs = 2;
       }},
      {"no input", "cannot have 0 inputs",
       [](planfmt::PlanModel&, planfmt::StepModel& step) {
         step.inputs.clear();
         step.core_inputs = 0;
       }},
      {"an absent input", "needs its input 0",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.inputs[0] = -1; }},
      {"another operator", "the step is operator number 20",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.op = 20; }},
      {"an operand of a program", "for a program it does not carry",
       [](planfmt::PlanModel&, planfmt::StepModel& step) { step.core_inputs = 0; }},
      {"another type", "only float32",
       [](planfmt::PlanModel& plan, planfmt::StepModel& step) {
         plan.programs[0].tensors[static_cast<size_t>(step.outputs[0])].dtype = DType::kI32;
       }},
      {"strides", "input 0 of a custom operator is not dense",
       [](planfmt::PlanModel& plan, planfmt::StepModel& step) {
         planfmt::TensorModel& x = plan.programs[0].tensors[static_cast<size_t>(step.inputs[0])];
         std::swap(x.strides[0], x.strides[1]);
       }},
  };
  for (const auto& one : cases) {
    planfmt::PlanModel plan =
        build("(float[n, h] x) => (float[n, v] y) { a = Relu(x) b = com.example.WindowMean<size = 3>(a) y = Relu(b) }",
              3)
            .plan;
    for (planfmt::StepModel& step : plan.programs[0].steps) {
      if (step.op == static_cast<uint8_t>(OpKind::kCustom)) one.tamper(plan, step);
    }
    const Failure failure = failure_of([&] { const tests::Loaded loaded(plan); });
    EXPECT_EQ(failure.code, StatusCode::kCorrupt) << one.what << ": " << failure.message;
    EXPECT_THAT(failure.message, HasSubstr(one.words)) << one.what;
  }
}

// A plugin may read an input again after it has checked it.
TEST_F(CustomOperators, AnOutputOverAnInputIsRefused) {
  planfmt::PlanModel plan = build("(float[8] x) => (float[8] y) { a = Relu(x) b = test.Positive(a) y = Neg(b) }").plan;
  planfmt::ProgramModel& program = plan.programs[0];
  for (const planfmt::StepModel& step : program.steps) {
    if (step.op != static_cast<uint8_t>(OpKind::kCustom)) continue;
    program.tensors[static_cast<size_t>(step.outputs[0])].storage =
        program.tensors[static_cast<size_t>(step.inputs[0])].storage;
  }
  const Failure failure = failure_of([&] { const tests::Loaded loaded(plan); });
  EXPECT_EQ(failure.code, StatusCode::kCorrupt) << failure.message;
  EXPECT_THAT(failure.message, HasSubstr("output 0 shares memory with input 0"));
}

TEST_F(CustomOperators, TooLittleWorkspaceIsRefused) {
  planfmt::PlanModel plan = build("(float[n, m] x) => (double[m] y) { y = test.Sums(x) }").plan;
  plan.programs[0].steps[0].workspace = -1;
  const Failure failure = failure_of([&] { const tests::Loaded loaded(plan); });
  EXPECT_EQ(failure.code, StatusCode::kCorrupt) << failure.message;
  EXPECT_THAT(failure.message, HasSubstr("needs a workspace of 512 bytes, the plan gives it 0"));
}

}  // namespace
}  // namespace planwright
