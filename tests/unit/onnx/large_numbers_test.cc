// Numbers so large that arithmetic on them would overflow, and shapes that contradict one another.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "builder/onnx/elements.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

struct LargeNumber {
  const char* name;
  int opset;
  const char* graph;
  const char* mentioned;
};

class LargeNumbers : public testing::TestWithParam<LargeNumber> {};

TEST_P(LargeNumbers, AreInvalidAndNamed) {
  const LargeNumber& large = GetParam();
  const Failure failure = import_failure(large.opset, large.graph, 0, 4);
  EXPECT_EQ(failure.code, StatusCode::kInvalid) << failure;
  EXPECT_TRUE(failure.mentions("odd")) << failure;
  EXPECT_TRUE(failure.mentions(large.mentioned)) << failure;
}

constexpr LargeNumber kAttributes[] = {
    {"ConvTransposeDilation", 13,
     "(float[1, 1, 4] x, float[1, 1, 3] w) => (float[a, b, c] y) { [odd] y = ConvTranspose<dilations = "
     "[4611686018427387904]>(x, w) }",
     "dilation 4611686018427387904"},
    {"ConvTransposeStrideBeyond32Bits", 13,
     "(float[1, 1, 4] x, float[1, 1, 3] w) => (float[a, b, c] y) { [odd] y = ConvTranspose<strides = "
     "[4294967297]>(x, w) }",
     "stride 4294967297"},
    {"ConvTransposeOutputPadding", 13,
     "(float[1, 1, 4] x, float[1, 1, 3] w) => (float[a, b, c] y) { [odd] y = ConvTranspose<output_padding = "
     "[9223372036854775807]>(x, w) }",
     "64 bits"},
    {"ConvTransposeNegativeOutput", 13,
     "(float[1, 1, 4] x, float[1, 1, 3] w) => (float[a, b, c] y) { [odd] y = ConvTranspose<output_shape = [-5]>(x, w) "
     "}",
     "negative"},
    {"GroupsBeyond32Bits", 21,
     "(float[1, 4294967297, 1] x, float[4294967297] s) => (float[a, b, c] y) { [odd] y = "
     "GroupNormalization<num_groups = 4294967297>(x, s, s) }",
     "4294967297"},
    {"StateOfManyNumbers", 14,
     "(float[1, 1, 2] x, float[1, 268435456, 2] w, float[1, 268435456, 268435456] r) => (float[a, b, c, d] y) { "
     "[odd] y = RNN(x, w, r) }",
     "268435456"},
    {"NegativeBlocks", 21,
     "(uint8[2, 0] x, float[2, 0] s) => (float[a, b] y) { [odd] y = DequantizeLinear<axis = 1, block_size = -4>(x, s) "
     "}",
     "block_size"},
    {"ScanAxisBeyond32Bits", 13,
     "(float[3] x) => (float[a] y) { [odd] y = Scan(x) <num_scan_inputs = 1, scan_output_axes = [4294967296], body = b "
     "(float p) => (float q) { q = Neg(p) }> }",
     "4294967296"},
};
INSTANTIATE_TEST_SUITE_P(Attributes, LargeNumbers, testing::ValuesIn(kAttributes),
                         [](const auto& large) { return std::string(large.param.name); });

constexpr LargeNumber kOperands[] = {
    {"SqueezedAxisOfAShape", 13,
     "(float[n] x) => (int64[a] y) <int64[1] i = {9223372036854775807}> { s = Shape(x) [odd] t = Squeeze(s, i) "
     "y = Cast<to = 7>(t) }",
     "9223372036854775807"},
    {"JoinedAxisOfAShape", 13,
     "(float[n] x) => (int64[a] y) { s = Shape(x) [odd] t = Concat<axis = 3>(s, s) y = Cast<to = 7>(t) }", "axis 3"},
    {"GatheredAxisOfAShape", 13,
     "(float[n] x) => (int64[a] y) <int64 i = {0}> { s = Shape(x) [odd] t = Gather<axis = -2>(s, i) "
     "y = Cast<to = 7>(t) }",
     "axis -2"},
    {"SlicedAxisOfAShape", 13,
     "(float[n] x) => (int64[a] y) <int64[1] b = {0}, int64[1] e = {1}, int64[1] i = {7}> { s = Shape(x) "
     "[odd] t = Slice(s, b, e, i) y = Cast<to = 7>(t) }",
     "7"},
    {"ReducedAxisOfAShape", 13,
     "(float[n] x) => (int64[a] y) <int64[1] i = {5}> { s = Shape(x) [odd] t = ReduceSum(s, i) y = Cast<to = 7>(t) }",
     "5"},
    {"PiecesOfAShape", 13,
     "(float[n, m] x) => (int64[a] y) <int64[2] i = {1, 9223372036854775807}> { s = Shape(x) [odd] t, u = Split(s, i) "
     "y = Cast<to = 7>(t) }",
     "64 bits"},
    {"PositionOfAFloat", 13,
     "(float[4] x) => (float[a] y) <float i = {1e30}> { s = SplitToSequence(x) [odd] y = SequenceAt(s, i) }",
     "its 'position' is fp32"},
    {"SizesOfAnEmptyAxis", 18,
     "(float[1, 0] x) => (float[a, b] y) <int64[2] s = {1, 9}> { [odd] y = Resize<keep_aspect_ratio_policy = "
     "\"not_larger\">(x, , , s) }",
     "9 of 0"},
};
INSTANTIATE_TEST_SUITE_P(Operands, LargeNumbers, testing::ValuesIn(kOperands),
                         [](const auto& large) { return std::string(large.param.name); });

constexpr LargeNumber kShapes[] = {
    {"LongAxis", 13, "(float[0, 1099511627777] odd) => (float[a, b] y) { y = Relu(odd) }", "larger than any memory"},
    {"ManyElementsBesideAnEmptyAxis", 13,
     "(float[0, 1099511627776, 1099511627776] odd) => (float[a, b, c] y) { y = Relu(odd) }", "larger than any memory"},
    {"InitializerOfManyElements", 13,
     "(float[1] x) => (float[a, b, c] y) <float[0, 1099511627776, 1099511627776] odd = {}> { y = Add(x, odd) }",
     "overflows"},
    {"ScaleWithoutAxes", 13,
     "(float[1, 2, 3] x, float s, float[2] b) => (float[c, d, e] y) { [odd] y = InstanceNormalization(x, s, b) }",
     "one axis"},
    // Each fits one length of the dynamic axis, and no two fit the same.
    {"ChannelsThatDisagree", 13,
     "(float[1, n, 3] x) => (float[a, b, c] y) <float[3] s = {1, 1, 1}, float[2] m = {0, 0}> "
     "{ [odd] y = BatchNormalization(x, s, s, m, m) }",
     "one number for each channel"},
    {"EllipsisTwice", 13,
     "(float[1, 1, 1, 1] x) => (float[a] y) { [odd] y = Einsum<equation = \"...->.........\">(x) }", "twice"},
};
INSTANTIATE_TEST_SUITE_P(Shapes, LargeNumbers, testing::ValuesIn(kShapes),
                         [](const auto& large) { return std::string(large.param.name); });

TEST(LargeParts, OfASplitAreTheWholeTensor) {
  const ir::Tensor y = run_text(13,
                                "(float[3] x) => (float[n] y) <int64 big = {9223372036854775807}> { "
                                "parts = SplitToSequence<axis = 0>(x, big) y = ConcatFromSequence<axis = 0>(parts) }",
                                {floats({3}, {1, 2, 3})});
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{1, 2, 3}));
}

// 2^20 channels in blocks of 2^40 numbers.
TEST(LargeBlocks, AreRefused) {
  const Failure failure = import_failure(
      13,
      "(float[1, 1099511627776, 1] x) => (float[a, b, c, d, e] y) <int64[3] image = {32768, 32768, 1024}, "
      "int64[3] block = {32768, 32768, 1024}> { [odd] y = Col2Im(x, image, block) }");
  EXPECT_NE(failure.code, StatusCode::kOk);
}

TEST(LargeRanks, OfAShapeThatIsSpreadAreRefused) {
  const Failure failure = import_failure(
      13,
      "(float[n] x) => (int64[a] y) <int64[11] i = {64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64}> { s = Shape(x) "
      "[odd] t = Expand(s, i) y = Cast<to = 7>(t) }");
  EXPECT_EQ(failure.code, StatusCode::kUnsupported) << failure;
}

// Each number that may be left out would be a pass over the rows.
TEST(LargeSkips, OfLongRowsAreRefused) {
  const auto failure = [](const char* length, const char* skips) {
    return import_failure(
        13, std::string("(int64[") + length +
                "] x) => (float[1] y) { [odd] y = TfIdfVectorizer<mode = "
                "\"TF\", min_gram_length = 2, max_gram_length = 2, ngram_counts = [0, 0], ngram_indexes = "
                "[0], pool_int64s = [1, 2], max_skip_count = " +
                skips + ">(x) }");
  };
  EXPECT_EQ(failure("1000000", "9223372036854775807").code, StatusCode::kUnsupported);
  EXPECT_EQ(failure("1000000", "3").code, StatusCode::kOk);
  EXPECT_EQ(failure("4", "9223372036854775807").code, StatusCode::kOk);
}

TEST(LargeFactors, OfIntegersSaturate) {
  const ir::Tensor y =
      run_text(13, "(int32[1, 1] a, int32[1, 1] b) => (int32[c, d] y) { y = Gemm<alpha = 1e30>(a, b) }",
               {tensor_of<int32_t>(DType::kI32, {1, 1}, {0}), tensor_of<int32_t>(DType::kI32, {1, 1}, {1})});
  EXPECT_EQ(elements_of<int32_t>(y), std::vector<int32_t>{0});
  EXPECT_EQ(importer::saturated(1e30), INT64_MAX);
  EXPECT_EQ(importer::saturated(-1e30), INT64_MIN);
  EXPECT_EQ(importer::saturated(NAN), 0);
}

TEST(ShapeInputs, OfShapesWhoseSizeOverflowsAreNone) {
  const OnnxModel model =
      model_of(13, "(float[2] x, int64[4611686018427387904, 4] s) => (float[n] y) { y = Reshape(x, s) }");
  EXPECT_TRUE(shape_inputs(model).empty());
}

// ---- Expand beside what is empty

ir::Tensor expanded(const std::string& graph, const std::vector<ir::Tensor>& inputs) {
  const ir::Graph imported = import_text(13, graph, 0, 4);
  EXPECT_EQ(ir::verify(imported), "");
  return ir::interpret(imported, inputs).at(0);
}

TEST(ImportExpand, OfAnEmptyAxisStaysEmpty) {
  const char* graph =
      "(float[0, 3] x, float[n] z) => (float[a, b] y) <int64[1] three = {3}> { s = Shape(z) "
      "t = Concat<axis = 0>(s, three) y = Expand(x, t) }";
  EXPECT_EQ(expanded(graph, {floats({0, 3}, {}), floats({1}, {1})}).dims, (std::vector<int64_t>{0, 3}));
  EXPECT_THROW(expanded(graph, {floats({0, 3}, {}), floats({2}, {1, 2})}), Error);
}

TEST(ImportExpand, OfDynamicAxesTakesTheOneThatIsNotOne) {
  const char* graph = "(float[n] x, float[m] z) => (float[a] y) { s = Shape(z) y = Expand(x, s) }";
  const auto length = [&](int64_t n, int64_t m) {
    const auto ones = [](int64_t count) { return floats({count}, std::vector<float>(static_cast<size_t>(count), 1)); };
    return expanded(graph, {ones(n), ones(m)}).dims.at(0);
  };
  EXPECT_EQ(length(0, 1), 0);
  EXPECT_EQ(length(1, 0), 0);
  EXPECT_EQ(length(1, 3), 3);
  EXPECT_EQ(length(3, 1), 3);
  EXPECT_EQ(length(2, 2), 2);
  EXPECT_THROW(length(2, 3), Error);
}

}  // namespace
}  // namespace planwright::builder
