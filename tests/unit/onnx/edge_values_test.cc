// Values at the edge of what an operator takes: empty axes, steps of 0, loops that never run, strings that nothing
// reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Those of int32 wrapped: 0 and -1.
TEST(Reduce, TheGreatestAndLeastOfNothingAreTheTypesEnds) {
  const auto of_nothing = [](const std::string& op, const std::string& type, DType dtype) {
    return run_text(20, "(" + type + "[0] x) => (" + type + "[m] y) { y = " + op + "(x) }", {{dtype, {0}, {}}});
  };
  EXPECT_THAT(elements_of<int32_t>(of_nothing("ReduceMax", "int32", DType::kI32)), ElementsAre(INT32_MIN));
  EXPECT_THAT(elements_of<int32_t>(of_nothing("ReduceMin", "int32", DType::kI32)), ElementsAre(INT32_MAX));
  EXPECT_THAT(elements_of<int8_t>(of_nothing("ReduceMax", "int8", DType::kI8)), ElementsAre(INT8_MIN));
  EXPECT_THAT(elements_of<int64_t>(of_nothing("ReduceMin", "int64", DType::kI64)), ElementsAre(INT64_MAX));
  EXPECT_THAT(elements_of<uint8_t>(of_nothing("ReduceMin", "uint8", DType::kU8)), ElementsAre(UINT8_MAX));
  EXPECT_THAT(elements_of<uint8_t>(of_nothing("ReduceMin", "bool", DType::kBool)), ElementsAre(1));
  EXPECT_THAT(elements_of<uint8_t>(of_nothing("ReduceMax", "bool", DType::kBool)), ElementsAre(0));
}

constexpr const char* kQuantise =
    "(float[n] x) => (uint8[n] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }";

// The formula's scale is 0 there, and what divides by it NaN.
TEST(DynamicQuantizeLinear, HasAScaleOfOneWhereThereIsNoRange) {
  const ir::Graph graph = import_text(18, kQuantise, 0, 8);
  for (const std::vector<float>& x : {std::vector<float>{}, std::vector<float>{0, 0, -0.0f}}) {
    const auto made = ir::interpret(graph, {floats({static_cast<int64_t>(x.size())}, x)});
    EXPECT_EQ(elements_of<uint8_t>(made[0]), std::vector<uint8_t>(x.size(), 0));
    EXPECT_THAT(elements_of<float>(made[1]), ElementsAre(1));
    EXPECT_THAT(elements_of<uint8_t>(made[2]), ElementsAre(0));
  }
  const auto made = ir::interpret(graph, {floats({3}, {-1, 0, 254})});
  EXPECT_THAT(elements_of<uint8_t>(made[0]), ElementsAre(0, 1, 255));
  EXPECT_THAT(elements_of<float>(made[1]), ElementsAre(1));
}

std::vector<float> padded(const std::string& mode, const std::string& pads, const std::vector<float>& x) {
  const ir::Graph graph = import_text(
      19, "(float[n] x) => (float[m] y) <int64[2] p = {" + pads + "}> { y = Pad<mode = \"" + mode + "\">(x, p) }", 0,
      8);
  EXPECT_EQ(ir::verify(graph), "");
  return elements_of<float>(ir::interpret(graph, {floats({static_cast<int64_t>(x.size())}, x)}).at(0));
}

// ONNX Runtime's answers.
TEST(Pad, RepeatsWhatNegativePadsLeave) {
  EXPECT_THAT(padded("wrap", "-1, 2", {0, 1, 2, 3}), ElementsAre(1, 2, 3, 1, 2));
  EXPECT_THAT(padded("wrap", "3, -2", {0, 1, 2, 3}), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(padded("reflect", "-1, 2", {0, 1, 2, 3}), ElementsAre(1, 2, 3, 2, 1));
  EXPECT_THAT(padded("edge", "-1, 2", {0, 1, 2, 3}), ElementsAre(1, 2, 3, 3, 3));
  EXPECT_THAT(padded("edge", "-1, -2", {0, 1, 2, 3}), ElementsAre(1));
}

TEST(Pad, OfNothingIsRefusedOnceItIsKnown) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    EXPECT_THAT(padded(mode, "1, 1", {2, 3}).size(), 4u);
    const Failure failure = failure_of([&] { padded(mode, "1, 0", {}); });
    EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
    EXPECT_TRUE(failure.mentions("nothing to repeat where axis 0 is empty")) << failure;
  }
  EXPECT_THAT(padded("constant", "1, 1", {}), ElementsAre(0, 0));
  EXPECT_THAT(padded("edge", "0, 0", {}), IsEmpty());
}

// With the values of input `index` in [-3, 4].
ir::Graph import_with_values(const std::string& graph, size_t index) {
  const OnnxModel model = model_of(13, graph);
  Profile profile = profile_of(model, 1, 1);
  profile.inputs[index].value_min = {-3};
  profile.inputs[index].value_opt = profile.inputs[index].value_max = {4};
  return import_model(model, {profile});
}

TEST(Range, AStepOfZeroIsRefusedOnceItIsKnown) {
  const ir::Graph graph =
      import_with_values("(int64 d) => (int64[n] y) <int64 a = {0}, int64 b = {5}> { [steps] y = Range(a, b, d) }", 0);
  const auto counted = [&](int64_t step) {
    return elements_of<int64_t>(ir::interpret(graph, {tensor_of<int64_t>(DType::kI64, {}, {step})}).at(0));
  };
  EXPECT_THAT(counted(2), ElementsAre(0, 2, 4));
  EXPECT_THAT(counted(-1), IsEmpty());
  const Failure failure = failure_of([&] { counted(0); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("steps") && failure.mentions("must not be 0")) << failure;
}

// It counted as a step backwards.
TEST(Slice, AStepOfZeroIsRefusedOnceItIsKnown) {
  const ir::Graph graph = import_with_values(
      "(float[4] x, int64[1] d) => (float[n] y) <int64[1] a = {0}, int64[1] b = {4}, int64[1] i = {0}> "
      "{ [steps] y = Slice(x, a, b, i, d) }",
      1);
  const auto sliced = [&](int64_t step) {
    return elements_of<float>(
        ir::interpret(graph, {floats({4}, {0, 1, 2, 3}), tensor_of<int64_t>(DType::kI64, {1}, {step})}).at(0));
  };
  EXPECT_THAT(sliced(3), ElementsAre(0, 3));
  const Failure failure = failure_of([&] { sliced(0); });
  EXPECT_TRUE(failure.mentions("steps") && failure.mentions("must not be 0")) << failure;
}

std::vector<float> cut(const std::vector<float>& x, const std::string& start, const std::string& end,
                       const std::string& step) {
  const ir::Graph graph =
      import_text(13,
                  "(float[n] x) => (float[m] y) <int64[1] a = {" + start + "}, int64[1] b = {" + end +
                      "}, int64[1] i = {0}, int64[1] d = {" + step + "}> { y = Slice(x, a, b, i, d) }",
                  0, 8);
  return elements_of<float>(ir::interpret(graph, {floats({static_cast<int64_t>(x.size())}, x)}).at(0));
}

// They overflowed.
TEST(Slice, TheLongestStepsTakeOneElement) {
  EXPECT_THAT(cut({1, 2, 3}, "1", "3", "9223372036854775807"), ElementsAre(2));
  EXPECT_THAT(cut({1, 2, 3}, "1", "-9", "-9223372036854775808"), ElementsAre(2));
  EXPECT_THAT(cut({1, 2, 3}, "2", "1", "9223372036854775807"), IsEmpty());
}

// They had one element, which was not there.
TEST(Slice, NothingBackwardsIsNothing) {
  EXPECT_THAT(cut({1, 2}, "-1", "-9", "-1"), ElementsAre(2, 1));
  EXPECT_THAT(cut({}, "-1", "-9", "-1"), IsEmpty());
}

TEST(Slice, AxesAreCheckedOnceTheyAreKnown) {
  const OnnxModel model = model_of(13,
                                   "(float[3, 3] x, int64[2] axes) => (float[n, m] y) <int64[2] a = {1, 2}, "
                                   "int64[2] b = {3, 3}> { [cuts] y = Slice(x, a, b, axes) }");
  Profile profile = profile_of(model, 1, 1);
  profile.inputs[1].value_min = {-9, -9};
  profile.inputs[1].value_opt = profile.inputs[1].value_max = {9, 9};
  const ir::Graph graph = import_model(model, {profile});
  const auto dims = [&](const std::vector<int64_t>& axes) {
    return ir::interpret(graph, {floats({3, 3}, std::vector<float>(9)), tensor_of(DType::kI64, {2}, axes)}).at(0).dims;
  };
  EXPECT_THAT(dims({0, 1}), ElementsAre(2, 1));
  EXPECT_THAT(dims({-1, 0}), ElementsAre(1, 2));
  EXPECT_TRUE(failure_of([&] { dims({0, 2}); }).mentions("'axes' must be of 2 axes"));
  EXPECT_TRUE(failure_of([&] { dims({1, -1}); }).mentions("must not stand twice"));
}

// It kept the axis, and had one more than it should.
TEST(Squeeze, OfAllAxesRefusesOneThatTurnsOutToHaveLengthOne) {
  const ir::Graph graph =
      import_text(13, "(float[1, n, 3] x) => (float[a, b] y) { [tight] y = Squeeze(x) }", 0, 8);
  const auto dims = [&](int64_t n) {
    return ir::interpret(graph, {floats({1, n, 3}, std::vector<float>(static_cast<size_t>(3 * n)))}).at(0).dims;
  };
  EXPECT_EQ(dims(2), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(dims(0), (std::vector<int64_t>{0, 3}));
  const Failure failure = failure_of([&] { dims(1); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("tight") && failure.mentions("keeps axis 1")) << failure;
  // The only length it has.
  EXPECT_EQ(ir::interpret(import_text(13, "(float[1, n, 3] x) => (float[b] y) { y = Squeeze(x) }", 1, 1),
                          {floats({1, 1, 3}, {1, 2, 3})})[0]
                .dims,
            std::vector<int64_t>{3});
}

TEST(Loop, ThatNeverRunsHandsItsFirstValuesOn) {
  const auto joined = [](const std::string& trips, const std::string& condition) {
    return run_text(13,
                    "(float[2] x) => (float[m] y) <int64 n = {" + trips + "}, bool c = {" + condition +
                        "}> { s = SequenceConstruct(x, x) t, v = Loop(n, c, s, x) <body = b (int64 i, bool k, "
                        "seq(float[2]) q, float[2] w) => (bool ko, seq(float[2]) r, float[4] u) "
                        "{ ko = Identity(k) r = SequenceInsert(q, w) u = Concat<axis = 0>(w, w) }> "
                        "z = ConcatFromSequence<axis = 0>(t) y = Concat<axis = 0>(z, v) }",
                    {floats({2}, {1, 2})});
  };
  EXPECT_THAT(elements_of<float>(joined("0", "1")), ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_THAT(elements_of<float>(joined("-3", "1")), ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_THAT(elements_of<float>(joined("7", "0")), ElementsAre(1, 2, 1, 2, 1, 2));
}

onnx::ModelProto with_labels(const std::string& graph) {
  onnx::ModelProto proto = proto_of(13, graph);
  onnx::TensorProto& labels = *proto.mutable_graph()->add_initializer();
  labels.set_name("labels");
  labels.set_data_type(onnx::TensorProto::STRING);
  labels.add_dims(2);
  for (const char* label : {"cat", "dog"}) labels.add_string_data(label);
  return proto;
}

Failure failure_with_labels(const std::string& graph) {
  return failure_of([&] { import_model(OnnxModel::from_proto(with_labels(graph)), {}); });
}

TEST(Strings, AreNoMatterWhereNothingReadsThem) {
  EXPECT_EQ(failure_with_labels("(float[2] x) => (float[2] y) { y = Relu(x) z = Identity(labels) }"), Failure{});
  EXPECT_EQ(failure_with_labels("(float[2] x) => (float[2] y) <bool c = {1}> { names = Identity(labels) "
                                "more = Constant<value_string = \"a\">() y = If(c) <then_branch = a () => (float[2] p) "
                                "{ p = Relu(x) }, else_branch = b () => (float[2] q) { q = Strange(names, more) }> }"),
            Failure{});
}

TEST(Strings, AreRefusedWithWhatReadsThem) {
  const Failure failure = failure_with_labels(
      "(float[2] x, int64[1] i) => (float[2] y, float[1] z) { y = Relu(x) l = Identity(labels) "
      "[naming] z = Gather(l, i) [other] w = Strange(x) v = Add(y, w) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
  EXPECT_TRUE(failure.mentions("1 node") && failure.mentions("naming") && failure.mentions("'l' is of strings"))
      << failure;
  const Failure output = failure_with_labels("(float[2] x) => (float[2] y) { y = Identity(labels) }");
  EXPECT_EQ(output.code, StatusCode::kUnsupported) << output;
  EXPECT_TRUE(output.mentions("output 'y' is of strings")) << output;
}

}  // namespace
}  // namespace planwright::builder
