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
  Profile profile = profile_of(model, 1, 8);
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

TEST(ShapeArithmetic, ValuesThatMayBeAnythingAreRefused) {
  const Failure failure =
      import_failure(13, "(float[2, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported);
  EXPECT_TRUE(failure.mentions("y (Reshape") && failure.mentions("as you give shapes")) << failure;
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
