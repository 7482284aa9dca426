// Numbers in a model that cannot be right, and empty tensors, which can (FAULTS B9, B10, B15, B18, B21).
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

struct BadModel {
  const char* name;
  int opset;
  const char* graph;
  const char* mentioned;  // the number or the attribute
};

class BadNumbers : public testing::TestWithParam<BadModel> {};

TEST_P(BadNumbers, AreInvalidAndNamed) {
  const BadModel& bad = GetParam();
  const Failure failure = import_failure(bad.opset, bad.graph);
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("odd")) << failure;
  EXPECT_TRUE(failure.mentions(bad.mentioned)) << failure;
}

constexpr BadModel kBadGeometry[] = {
    {"ConvStride", 13,
     "(float[1, 2, 8, 8] x, float[3, 2, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv<strides = [0, 1]>(x, w) }",
     "stride 0"},
    {"ConvDilation", 13,
     "(float[1, 2, 8, 8] x, float[3, 2, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv<dilations = [1, 0]>(x, w) "
     "}",
     "dilation 0"},
    {"ConvGroup", 13,
     "(float[1, 2, 8, 8] x, float[3, 2, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv<group = 0>(x, w) }",
     "group"},
    {"ConvGroupThatDoesNotDivide", 13,
     "(float[1, 4, 8, 8] x, float[3, 2, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv<group = 2>(x, w) }",
     "group"},
    {"ConvKernelLargerThanItsInput", 13,
     "(float[1, 2, 2, 2] x, float[3, 2, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv(x, w) }", "3"},
    {"ConvChannels", 13, "(float[1, 2, 8, 8] x, float[3, 5, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = Conv(x, w) }",
     "5"},
    {"PoolStride", 13,
     "(float[1, 2, 8, 8] x) => (float[a, b, c, d] y) { [odd] y = MaxPool<kernel_shape = [2, 2], strides = [1, 0]>(x) }",
     "stride 0"},
    {"PoolKernel", 13,
     "(float[1, 2, 8, 8] x) => (float[a, b, c, d] y) { [odd] y = AveragePool<kernel_shape = [0, 2]>(x) }", "kernel 0"},
    {"PoolLargerThanItsInput", 13,
     "(float[1, 2, 2, 2] x) => (float[a, b, c, d] y) { [odd] y = MaxPool<kernel_shape = [5, 5]>(x) }", "5"},
    {"ConvTransposeStride", 13,
     "(float[1, 2, 4, 4] x, float[2, 3, 3, 3] w) => (float[a, b, c, d] y) { [odd] y = ConvTranspose<strides = [0, "
     "0]>(x, "
     "w) }",
     "stride 0"},
};
INSTANTIATE_TEST_SUITE_P(Geometry, BadNumbers, testing::ValuesIn(kBadGeometry),
                         [](const auto& bad) { return std::string(bad.param.name); });

constexpr BadModel kQuantisation[] = {
    {"QuantizeScaleZero", 13,
     "(float[2] x) => (float[2] y) <float s = {0.0}> { [odd] q = QuantizeLinear(x, s) y = Cast<to = 1>(q) }",
     "scale 's' holds 0"},
    {"QuantizeScaleNan", 13,
     "(float[2] x) => (float[2] y) <float s = {NaN}> { [odd] q = QuantizeLinear(x, s) y = Cast<to = 1>(q) }",
     "scale 's' holds nan"},
    {"QuantizeScaleInfinite", 13,
     "(float[2] x) => (float[2] y) <float s = {inf}> { [odd] q = QuantizeLinear(x, s) y = Cast<to = 1>(q) }",
     "scale 's' holds inf"},
    {"DequantizeScaleZero", 13,
     "(uint8[2, 2] x) => (float[2, 2] y) <float[2] s = {1.0, 0.0}> { [odd] y = DequantizeLinear(x, s) }",
     "scale 's' holds"},
    {"DequantizeZeroPointOfInt32", 13,
     "(int32[2] x) => (float[2] y) <float s = {1.0}, int32 z = {3}> { [odd] y = DequantizeLinear(x, s, z) }",
     "zero point 'z' holds 3"},
    {"QLinearConvScale", 13,
     "(uint8[1, 1, 4] x, uint8[1, 1, 3] w) => (uint8[1, 1, 2] y) <float s = {1.0}, float t = {0.0}, uint8 z = {0}> "
     "{ [odd] y = QLinearConv(x, s, z, w, t, z, s, z) }",
     "scale 't' holds 0"},
    {"QLinearMatMulScale", 13,
     "(uint8[2, 2] x, uint8[2, 2] w) => (uint8[2, 2] y) <float s = {1.0}, float t = {0.0}, uint8 z = {0}> "
     "{ [odd] y = QLinearMatMul(x, s, z, w, s, z, t, z) }",
     "scale 't' holds 0"},
};
INSTANTIATE_TEST_SUITE_P(Quantisation, BadNumbers, testing::ValuesIn(kQuantisation),
                         [](const auto& bad) { return std::string(bad.param.name); });

constexpr BadModel kOutOfRange[] = {
    {"Axis", 13, "(float[2, 3] x) => (float[a, b] y) { [odd] y = Softmax<axis = 2>(x) }", "2"},
    {"NegativeAxis", 13, "(float[2, 3] x, float[2, 3] z) => (float[a, b] y) { [odd] y = Concat<axis = -3>(x, z) }",
     "-3"},
    {"ReduceAxis", 13, "(float[2, 3] x) => (float[a, b] y) { [odd] y = ReduceMax<axes = [5]>(x) }", "5"},
    {"RepeatedAxis", 13,
     "(float[2, 3] x) => (float[a, b, c, d] y) <int64[2] axes = {0, 0}> { [odd] y = Unsqueeze(x, axes) }", "axes"},
    {"Perm", 13, "(float[2, 3] x) => (float[a, b] y) { [odd] y = Transpose<perm = [0, 2]>(x) }", "perm"},
    {"RepeatedPerm", 13, "(float[2, 3] x) => (float[a, b] y) { [odd] y = Transpose<perm = [1, 1]>(x) }", "perm"},
    {"ShortPerm", 13, "(float[2, 3] x) => (float[a, b] y) { [odd] y = Transpose<perm = [0]>(x) }", "perm"},
    {"AttributeBeyond32Bits", 13,
     "(float[2, 3] x, int64[2, 1] i) => (float[a] y) { [odd] y = GatherND<batch_dims = 4294967297>(x, i) }",
     "4294967297"},
    {"RangeOfNothing", 13,
     "() => (float[n] y) <float[0] a = {}, float b = {3.0}, float c = {1.0}> { [odd] y = Range(a, b, c) }", "start"},
    {"RangeOfNoSizes", 13,
     "(float[n] x) => (float[a] y) <int64[1] zero = {0}, int64 b = {3}, int64 c = {1}> { s = Shape(x) "
     "e = Slice(s, zero, zero) [odd] r = Range(e, b, c) y = Cast<to = 1>(r) }",
     "scalars"},
    {"ConvIntegerOfAScalar", 13,
     "(uint8[1, 1, 4] x, uint8 w) => (int32[a, b, c] y) <uint8[2] z = {1, 2}, uint8 o = {0}> "
     "{ [odd] y = ConvInteger(x, w, o, z) }",
     "too few axes"},
    {"OneHotDepth", 13,
     "(int64[2] x, float[2] v) => (float[a, b] y) <float d = {8589934592.0}> { [odd] y = OneHot(x, d, v) }",
     "8589934592"},
    {"LpPoolExponent", 1,
     "(float[1, 2, 8, 8] x) => (float[a, b, c, d] y) { [odd] y = LpPool<kernel_shape = [2, 2], p = 8589934592.0>(x) }",
     "8589934592"},
    {"GatherIndex", 13, "(float[2, 3] x) => (float[b] y) <int64 i = {2}> { [odd] y = Gather(x, i) }", "2"},
    {"SliceAxis", 13,
     "(float[2, 3] x) => (float[a, b] y) <int64[1] s = {0}, int64[1] e = {1}, int64[1] i = {7}> { [odd] y = Slice(x, "
     "s, e, "
     "i) }",
     "7"},
    {"SliceStep", 13,
     "(float[2, 3] x) => (float[a, b] y) <int64[1] s = {0}, int64[1] e = {1}, int64[1] i = {0}> { [odd] y = Slice(x, "
     "s, e, "
     "i, s) }",
     "step"},
    {"Pads", 13, "(float[2, 3] x) => (float[a, b] y) <int64[4] p = {0, -4, 0, 0}> { [odd] y = Pad(x, p) }", "axis 1"},
    {"ReshapeDim", 13, "(float[2, 3] x) => (float[a] y) <int64[1] s = {-2}> { [odd] y = Reshape(x, s) }", "-2"},
    {"ReshapeCount", 13, "(float[2, 3] x) => (float[a] y) <int64[1] s = {7}> { [odd] y = Reshape(x, s) }", "7"},
    {"SplitSizes", 13,
     "(float[2, 3] x) => (float[a, b] y) <int64[2] s = {1, 1}> { [odd] y, z = Split<axis = 1>(x, s) }", "3"},
    {"TopK", 13, "(float[3] x) => (float[a] y) <int64[1] k = {4}> { [odd] y, i = TopK(x, k) }", "4"},
    {"BlockSize", 13, "(float[1, 4, 2, 2] x) => (float[a, b, c, d] y) { [odd] y = DepthToSpace<blocksize = 0>(x) }",
     "blocksize"},
    {"BlockSizeWhoseSquareOverflows", 13,
     "(float[1, 4, 2, 2] x) => (float[a, b, c, d] y) { [odd] y = DepthToSpace<blocksize = 1099511627776>(x) }",
     "1099511627776"},
    {"AxesWhoseSumOverflows", 13,
     "(float[2, 3] x, int64[3] n) => (float[a, b] y) { [odd] y = ReverseSequence<batch_axis = 1, time_axis = "
     "2147483647>(x, n) }",
     "2147483647"},
    {"PoolWithoutGrams", 13,
     "(int64[4] x) => (float[a] y) { [odd] y = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0, "
     "min_gram_length "
     "= 1, mode = \"TF\", ngram_counts = [1], ngram_indexes : ints = [], pool_int64s = [5]>(x) }",
     "n-grams"},
};
INSTANTIATE_TEST_SUITE_P(OutOfRange, BadNumbers, testing::ValuesIn(kOutOfRange),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(EmptyTensors, GoThroughAnyOperator) {
  EXPECT_TRUE(run_text(13, "(float[0, 3] x) => (float[0, 3] y) { y = Relu(x) }", {floats({0, 3}, {})}).data.empty());
  const ir::Tensor product = run_text(13, "(float[2, 0] x, float[0, 3] w) => (float[2, 3] y) { y = MatMul(x, w) }",
                                      {floats({2, 0}, {}), floats({0, 3}, {})});
  EXPECT_EQ(elements_of<float>(product), std::vector<float>(6, 0.0f));
  const ir::Tensor sum = run_text(13, "(float[0, 3] x) => (float[1, 3] y) { a = Abs(x) y = ReduceL1<axes = [0]>(a) }",
                                  {floats({0, 3}, {})});
  EXPECT_EQ(elements_of<float>(sum), std::vector<float>(3, 0.0f));
  EXPECT_EQ(run_text(13, "(float[0, 2] x, float[1, 2] z) => (float[1, 2] y) { y = Concat<axis = 0>(x, z) }",
                     {floats({0, 2}, {}), floats({1, 2}, {1, 2})})
                .data.size(),
            8u);
}

TEST(EmptyTensors, NoDivisionByTheirSize) {
  const Failure failure = import_failure(
      13, "(float[0, 3] x) => (float[a] y) <int64[2] s = {0, -1}> { [odd] y = Reshape<allowzero = 1>(x, s) }");
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
}

// 2^40 elements computed while building would take the machine's memory; the engine computes them, or is refused for
// it.
TEST(Folding, StopsAtACap) {
  const ir::Graph graph = import_text(
      13,
      "(float[1] x) => (float y) <int64[2] big = {1048576, 1048576}> { c = ConstantOfShape(big) e = Add(c, x) "
      "y = ReduceSum<keepdims = 0>(e) }");
  for (ir::ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).is_constant()) {
      EXPECT_LT(graph.value(id).constant->size(), size_t{1} << 20);
    }
  }
}

}  // namespace
}  // namespace planwright::builder
