// Shape arithmetic: what a model computes on dimensions becomes expressions and disappears.
#include "builder/onnx/shape_arithmetic.h"

#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

// The dims that ConstantOfShape makes of `shape`, a value of rank 1 computed by `nodes` from x: float[n, 3, h].
std::string dims_of(const std::string& nodes, int64_t low = 1, int64_t high = 64) {
  const ir::Graph graph = import_text(
      13, "(float[n, 3, h] x) => (float[] y) { s = Shape(x) " + nodes + " y = ConstantOfShape(shape) }", low, high);
  // Nothing but the Fill, which is gone too where the shape is constant.
  EXPECT_LE(graph.order().size(), 1u) << ir::print(graph);
  return ir::to_string(graph.value(graph.outputs[0]).dims);
}

std::string ints(const std::string& name, const std::string& values) {
  return name + " = Constant<value_ints = [" + values + "]>() ";
}

TEST(ShapeArithmetic, ShapeIsTheDims) { EXPECT_EQ(dims_of("shape = Identity(s)"), "[n, 3, h]"); }

TEST(ShapeArithmetic, GatherPicks) { EXPECT_EQ(dims_of(ints("i", "-1, 0") + "shape = Gather(s, i)"), "[h, n]"); }

TEST(ShapeArithmetic, GatherOutOfRangeIsInvalid) {
  const Failure failure = failure_of([] { dims_of(ints("i", "3") + "shape = Gather(s, i)"); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("shape (Gather)") && failure.mentions("3")) << failure;
}

TEST(ShapeArithmetic, SliceTakesAPart) {
  EXPECT_EQ(dims_of(ints("a", "1") + ints("b", "9223372036854775807") + "shape = Slice(s, a, b)"), "[3, h]");
  EXPECT_EQ(dims_of(ints("a", "-1") + ints("b", "-9223372036854775808") + ints("ax", "0") + ints("st", "-1") +
                    "shape = Slice(s, a, b, ax, st)"),
            "[h, 3, n]");
}

// The end may lie before the first element, the start may not.
TEST(ShapeArithmetic, SliceBackwardsBeginsInTheTensor) {
  EXPECT_EQ(dims_of(ints("a", "-100") + ints("b", "-200") + ints("ax", "0") + ints("st", "-1") +
                    "shape = Slice(s, a, b, ax, st)"),
            "[n]");
}

TEST(ShapeArithmetic, ScalarsAreJoinedAgain) {
  EXPECT_EQ(dims_of("zero = Constant<value_int = 0>() n = Gather(s, zero) " + ints("ax", "0") +
                    "u = Unsqueeze(n, ax) " + ints("c", "5") + "shape = Concat<axis = 0>(u, c)"),
            "[n, 5]");
}

TEST(ShapeArithmetic, ArithmeticIsSymbolic) {
  EXPECT_EQ(dims_of(ints("k", "2, 1, 4") + "m = Mul(s, k) " + ints("o", "1, 0, 0") + "shape = Add(m, o)"),
            "[2*n + 1, 3, 4*h]");
  EXPECT_EQ(dims_of(ints("k", "2") + "shape = Div(s, k)"), "[floor(n/2), 1, floor(h/2)]");
  EXPECT_EQ(dims_of(ints("k", "100") + "shape = Max(s, k)"), "[100, 100, 100]");  // 64 is the most that n and h can be
}

TEST(ShapeArithmetic, CastsKeepElements) {
  EXPECT_EQ(dims_of("c = Cast<to = 6>(s) shape = Cast<to = 7>(c)"), "[n, 3, h]");
}

TEST(ShapeArithmetic, ProductsAndSums) {
  EXPECT_EQ(dims_of("shape = ReduceProd<keepdims = 1>(s)"), "[3*n*h]");
  EXPECT_EQ(dims_of("shape = ReduceSum<keepdims = 1>(s)"), "[n + h + 3]");
  EXPECT_EQ(dims_of("shape = ReduceSum<noop_with_empty_axes = 1>(s)"), "[n, 3, h]");
}

TEST(ShapeArithmetic, WhereEqualIsDecidedByRanges) {
  // The form in which PyTorch exports expand(): -1 where a dim stays.
  EXPECT_EQ(dims_of(ints("m", "-1, -1, -1") + "q = Equal(s, m) " + ints("one", "1, 1, 1") + "shape = Where(q, one, s)"),
            "[n, 3, h]");
}

TEST(ShapeArithmetic, SplitGivesEachPart) {
  const ir::Graph graph =
      import_text(13,
                  "(float[n, 3, h] x) => (float[] y) { s = Shape(x) a, b, c = Split(s) shape = Concat<axis = 0>(c, a) "
                  "y = ConstantOfShape(shape) }");
  EXPECT_EQ(ir::to_string(graph.value(graph.outputs[0]).dims), "[h, n]");
}

// Each is refused as an operator on data is.
TEST(ShapeArithmetic, WhatOnnxForbidsIsInvalid) {
  const auto failure = [](int opset, const std::string& nodes) {
    return import_failure(opset, "(float[n, 3, h, 2, 1] x) => (int64[a] y) { s = Shape(x) " + nodes + " }");
  };
  const auto is_invalid = [&](int opset, const std::string& nodes, const std::string& reason) {
    const Failure found = failure(opset, nodes);
    EXPECT_TRUE(found.code == StatusCode::kInvalid && found.mentions(reason)) << nodes << ": " << found;
  };
  is_invalid(13, "y, z = Split(s)", "2 equal pieces must divide the axis");
  is_invalid(18, "y, z = Split<num_outputs = 3>(s)", "'num_outputs' is not the number of its outputs");
  is_invalid(18, "y, z, u, v = Split<num_outputs = 4>(s)", "4 pieces needs a longer axis");
  is_invalid(13, "y, z, u, v, w = Split<axis = 1>(s)", "axis 1 is not in");
  is_invalid(13, ints("ax", "0, 0") + "y = Unsqueeze(s, ax)", "stands twice");
  is_invalid(13, ints("i", "0") + ints("ax", "0, -1") + "m = Gather(s, i) y = Squeeze(m, ax)", "stands twice");
  is_invalid(13,
             ints("i", "0") + ints("ax", "0") + ints("one", "1") +
                 "m = Gather(s, i) t = Unsqueeze(m, ax) y = Range(t, t, one)",
             "must be scalars");
  is_invalid(13, "i = Constant<value_int = 5>() y = Reshape(s, i)", "must be int64 with one axis");
}

TEST(ShapeArithmetic, EmptyTensorsKeepTheirAxes) {
  const std::string empty =
      ints("i", "0") + ints("ax", "0") + ints("none", "3, 0") + "m = Gather(s, i) e = Expand(m, none) ";  // [3, 0]
  const auto failure = [&](const std::string& nodes) {
    return import_failure(13, "(float[n] x) => (int64[a] y) { s = Shape(x) " + empty + nodes + " }");
  };
  EXPECT_EQ(failure("y = Squeeze(e, ax)").code, StatusCode::kInvalid);                        // of length 3
  EXPECT_EQ(failure(ints("zero", "0") + "y = Reshape(e, zero)").code, StatusCode::kInvalid);  // copies the 3
  EXPECT_EQ(failure(ints("open", "-1") + "y = Reshape(e, open)"), Failure{});
}

// Before opset 7.
TEST(ShapeArithmetic, TheSecondOperandMayBePutAtAnAxis) {
  const ir::Graph graph = import_text(6,
                                      "(float[n, 3] x) => (int64[a, b] y) <int64[1, 1] one = {1}> { s = Shape(x) "
                                      "y = Add<broadcast = 1, axis = 0>(one, s) }");
  EXPECT_EQ(ir::interpret(graph, {floats({2, 3}, std::vector<float>(6))})[0].dims, (std::vector<int64_t>{2, 1}));
}

// The int64 elements that `nodes` compute as y from s, the dims of x: float[n, 0].
std::vector<int64_t> computed_from(int64_t n, const std::string& nodes, int64_t high = 100'000) {
  const ir::Graph graph = import_text(13, "(float[n, 0] x) => (int64[a] y) { s = Shape(x) " + nodes + " }", 1, high);
  return elements_of<int64_t>(ir::interpret(graph, {floats({n, 0}, {})})[0]);
}

TEST(ShapeArithmetic, NarrowTypesWrap) {
  EXPECT_EQ(computed_from(300, "b = Cast<to = 2>(s) y = Cast<to = 7>(b)"), (std::vector<int64_t>{44, 0}));
  EXPECT_EQ(computed_from(200, "b = Cast<to = 3>(s) y = Cast<to = 7>(b)"), (std::vector<int64_t>{-56, 0}));
  EXPECT_EQ(computed_from(5, ints("k", "300, 1") + "m = Add(s, k) b = Cast<to = 2>(m) y = Cast<to = 7>(b)", 9),
            (std::vector<int64_t>{49, 1}));
  EXPECT_EQ(
      computed_from(5, ints("k", "300") + "m = Concat<axis = 0>(s, k) b = Cast<to = 2>(m) y = Cast<to = 7>(b)", 9),
      (std::vector<int64_t>{5, 0, 44}));
}

TEST(ShapeArithmetic, NegativeNumbersAreLargeWithoutASign) {
  EXPECT_EQ(computed_from(5, ints("k", "9") + "d = Sub(s, k) u = Cast<to = 13>(d) two = Cast<to = 13>(k) "
                                              "q = Less(u, two) y = Cast<to = 7>(q)"),
            (std::vector<int64_t>{0, 0}));
}

// int32 is what exporters compute sizes in: they stay expressions, and shapes at which they would wrap are refused.
TEST(ShapeArithmetic, SizesInInt32MustFitIt) {
  const std::string squares = "i = Cast<to = 6>(s) m = Mul(i, i) n = Identity(m) y = Cast<to = 7>(n)";
  EXPECT_EQ(computed_from(300, squares), (std::vector<int64_t>{90'000, 0}));
  const Failure failure = failure_of([&] { computed_from(70'000, squares); });
  EXPECT_TRUE(failure.mentions("m: ") && failure.mentions("computed in int32 must fit it")) << failure;
  const auto guards = [&](int64_t high) {
    return import_text(13, "(float[n, 0] x) => (int64[a] y) { s = Shape(x) " + squares + " }", 1, high).guards.size();
  };
  EXPECT_EQ(guards(40'000), 0u);
  EXPECT_EQ(guards(50'000), 1u);
}

TEST(ShapeArithmetic, ConstantDimsAreConstants) { EXPECT_EQ(dims_of("shape = Identity(s)", 7, 7), "[7, 3, 7]"); }

TEST(ShapeArithmetic, NegativeNumeratorsTruncateTowardsZero) {
  const ir::Graph graph =
      import_text(13, "(float[n] x) => (float[] y) { s = Shape(x) " + ints("big", "65") + "d = Sub(s, big) " +
                          ints("two", "2") + "q = Div(d, two) shape = Neg(q) y = ConstantOfShape(shape) }");
  EXPECT_EQ(ir::interpret(graph, {floats({60}, std::vector<float>(60))})[0].dims, std::vector<int64_t>{2});
}

TEST(ShapeArithmetic, ShapesUsedAsDataAreMadeByOneOperator) {
  // Averages over a dynamic axis: the length is data.
  const std::string text =
      "(float[n, 4] x) => (float[4] y) { t = ReduceSum<keepdims = 0>(x, ax) s = Shape(x) zero = Constant<value_int = "
      "0>() "
      "n = Gather(s, zero) f = Cast<to = 1>(n) y = Div(t, f) }";
  onnx::ModelProto proto = proto_of(13, text);
  onnx::TensorProto& axes = *proto.mutable_graph()->add_initializer();
  axes.set_name("ax");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(0);
  const OnnxModel model = OnnxModel::from_proto(proto);
  const ir::Graph graph = import_model(model, {profile_of(model, 1, 8)});
  EXPECT_NE(ir::print(graph).find("ShapeValues"), std::string::npos) << ir::print(graph);
  EXPECT_EQ(ir::verify(graph), "");
  const ir::Tensor y = ir::interpret(graph, {floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})[0];
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{3, 4, 5, 6}));
}

// The model's graph with these values, from min to max, for its second input.
ir::Graph import_with_values(const std::string& text, const std::vector<int64_t>& min,
                             const std::vector<int64_t>& max) {
  const OnnxModel model = OnnxModel::from_proto(proto_of(13, text));
  Profile profile = profile_of(model, 0, 8);
  profile.inputs[1].value_min = profile.inputs[1].value_opt = min;
  profile.inputs[1].value_max = max;
  return import_model(model, {profile});
}

TEST(ShapeArithmetic, ValuesOfAProfileAreElements) {
  const std::string text = "(float[2, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }";
  const ir::Graph known = import_with_values(text, {-1, 4}, {-1, 4});
  EXPECT_EQ(ir::to_string(known.value(known.outputs[0]).dims), "[3, 4]");
  const ir::Graph graph = import_with_values(text, {3, 1}, {3, 6});
  EXPECT_EQ(ir::to_string(graph.value(graph.outputs[0]).dims), "[3, shape[1]]");
  EXPECT_EQ(graph.guards.size(), 1u);  // 3 * shape[1] is 12
}

// [rows of x that are not 0] -> [that many, 1]: the form in which TensorFlow writes what follows its loops.
constexpr const char* kReshapeToACount =
    "(float[m] x) => (int64[k, one] y) { i = NonZero(x) s = Shape(i) at = Constant<value_ints = [1, 0]>() "
    "shape = Gather(s, at) [odd] y = Reshape(i, shape) }";

TEST(ReshapeToSizesThatMayBeZero, IsNotRefusedForAZeroThatNeedNotBe) {
  const ir::Graph graph = import_text(13, kReshapeToACount);
  const ir::Tensor y = ir::interpret(graph, {floats({4}, {0, 5, 0, 7})})[0];
  EXPECT_EQ(y.dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(elements_of<int64_t>(y), (std::vector<int64_t>{1, 3}));
}

TEST(ReshapeToSizesThatMayBeZero, RefusesAZeroThatWouldCopyAnAxis) {
  const ir::Graph graph = import_text(13, kReshapeToACount);
  const Failure failure = failure_of([&] { ir::interpret(graph, {floats({2}, {0, 0})}); });
  EXPECT_EQ(failure.code, StatusCode::kInvalid);
  EXPECT_TRUE(failure.mentions("odd") && failure.mentions("entry 0 of a Reshape's shape")) << failure;
}

TEST(ReshapeToSizesThatMayBeZero, NeedsNoGuardWhereZeroCopiesTheSameAxis) {
  const ir::Graph graph =
      import_text(13,
                  "(float[n, 3, h] x) => (float[a, b] y) { s = Shape(x) " + ints("zero", "0") + ints("open", "-1") +
                      "n = Gather(s, zero) " + "shape = Concat<axis = 0>(n, open) y = Reshape(x, shape) }",
                  0, 8);
  EXPECT_EQ(ir::to_string(graph.value(graph.outputs[0]).dims[0]), "n");
  for (const ir::Guard& guard : graph.guards) EXPECT_EQ(guard.reason.find("entry"), std::string::npos) << guard.reason;
}

TEST(ReshapeToSizesThatMayBeZero, RefusesADifferenceThatComesToMinusOne) {
  const ir::Graph graph = import_text(
      13, "(float[n, h] x, float[k] z) => (float[a] y) { s = Shape(x) " + ints("zero", "0") + ints("one", "1") +
              "n = Gather(s, zero) h = Gather(s, one) d = Sub(n, h) [odd] y = Reshape(z, d) }");
  const auto run = [&](int64_t n, int64_t h, int64_t k) {
    return ir::interpret(graph, {floats({n, h}, std::vector<float>(static_cast<size_t>(n * h))),
                                 floats({k}, std::vector<float>(static_cast<size_t>(k)))})[0];
  };
  EXPECT_EQ(run(5, 2, 3).dims, std::vector<int64_t>{3});
  EXPECT_TRUE(failure_of([&] { run(1, 2, 3); }).mentions("odd"));
}

TEST(ReshapeToValues, ZeroCopiesAndMinusOneInfersWhenTheEngineRuns) {
  const std::string text = "(float[2, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }";
  const ir::Graph graph = import_with_values(text, {-1, -1}, {12, 12});
  const auto dims = [&](const std::vector<int64_t>& shape) {
    return ir::interpret(graph, {floats({2, 6}, std::vector<float>(12)), tensor_of(DType::kI64, {2}, shape)})[0].dims;
  };
  EXPECT_EQ(dims({3, 4}), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(dims({0, -1}), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(dims({-1, 0}), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(dims({-1, 3}), (std::vector<int64_t>{4, 3}));
  EXPECT_ANY_THROW(dims({5, 2}));
}

// They were cut to 1.
TEST(ReshapeToValues, TheOtherDimsOfAnEmptyTensorAreKept) {
  const ir::Graph graph = import_with_values(
      "(float[n, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }", {-1, -1}, {99, 99});
  const auto dims = [&](int64_t n, const std::vector<int64_t>& shape) {
    return ir::interpret(graph, {floats({n, 6}, std::vector<float>(static_cast<size_t>(6 * n))),
                                 tensor_of(DType::kI64, {2}, shape)})[0]
        .dims;
  };
  EXPECT_EQ(dims(2, {4, 3}), (std::vector<int64_t>{4, 3}));
  EXPECT_ANY_THROW(dims(2, {48, 1}));
  EXPECT_EQ(dims(0, {0, 5}), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(dims(0, {-1, 48}), (std::vector<int64_t>{0, 48}));
  EXPECT_TRUE(failure_of([&] { dims(0, {0, 49}); }).mentions("at most 48 where its input is empty"));
}

TEST(ReshapeToValues, OfACountThatIsZeroKeepTheOtherDims) {
  const ir::Graph graph = import_text(13,
                                      "(float[m] x, float[2] v) => (int64[a, b] y) { i = NonZero(x) "
                                      "shape = Cast<to = 7>(v) y = Reshape(i, shape) }");
  const auto dims = [&](const std::vector<float>& x, const std::vector<float>& shape) {
    return ir::interpret(graph, {floats({static_cast<int64_t>(x.size())}, x), floats({2}, shape)})[0].dims;
  };
  EXPECT_EQ(dims({0, 5, 0, 7}, {-1, 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(dims({0, 0}, {-1, 2}), (std::vector<int64_t>{0, 2}));
}

// What is too large was cut to what there is: 100 of 12 elements passed for 12.
TEST(ReshapeToValues, EntriesThatAreTooLargeAreRefused) {
  const ir::Graph graph =
      import_text(13, "(float[2, 6] x, float[1] v) => (float[a] y) { shape = Cast<to = 7>(v) y = Reshape(x, shape) }");
  const auto run = [&](float entry) {
    return ir::interpret(graph, {floats({2, 6}, std::vector<float>(12)), floats({1}, {entry})})[0];
  };
  EXPECT_EQ(run(12).dims, std::vector<int64_t>{12});
  EXPECT_EQ(failure_of([&] { run(100); }).code, StatusCode::kInvalid);
}

TEST(ShapeArithmetic, ValuesThatMayBeAnythingAreRefused) {
  const Failure failure =
      import_failure(13, "(float[2, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("y (Reshape") && failure.mentions("as you give shapes")) << failure;
}

TEST(ShapeArithmetic, ValuesThatMayWrapAreNotKnown) {
  const auto is_known = [](const std::string& type, int64_t high) {
    const ir::Graph graph = import_with_values(
        "(float[2] x, int64[1] v) => (" + type + "[1] y) { y = Cast<to = " + (type == "int8" ? "3" : "6") + ">(v) }",
        {0}, {high});
    return graph.value(graph.outputs[0]).elements.has_value();
  };
  EXPECT_TRUE(is_known("int8", 127));
  EXPECT_FALSE(is_known("int8", 128));
  EXPECT_TRUE(is_known("int32", 128));
  EXPECT_FALSE(is_known("int32", int64_t{1} << 31));
}

TEST(ShapeArithmetic, ValuesOfAProfileAreAxes) {
  const ir::Graph graph = import_with_values(
      "(float[2, 3] x, int64[1] axes) => (float[a] y) { y = ReduceSum<keepdims = 0>(x, axes) }", {-1}, {-1});
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const ir::Tensor y = ir::interpret(graph, {x, tensor_of(DType::kI64, {1}, std::vector<int64_t>{-1})})[0];
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{6, 15}));
}

// Integers that are no sizes wrap at run time; as expressions they would not fit.
TEST(ShapeArithmetic, IntegersThatOverflowAreLeftToRunTime) {
  EXPECT_NO_THROW(import_with_values("(int64[1] x, int64[1] v) => (int64[1] y) { s = Mul(v, v) y = Add(x, s) }",
                                     {int64_t{1} << 62}, {int64_t{1} << 62}));
}

}  // namespace
}  // namespace planwright::builder
