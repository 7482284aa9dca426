// fp16 and bf16: an operator that takes several steps is rounded once, at its end. Each case cancels what rounding in
// between loses: 2048 + 1 is no fp16, 256 + 1 no bf16.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

struct ShortFloat {
  const char* name;
  int onnx_type;
  float edge;  // edge + 1 is halfway between two of its numbers
};
constexpr ShortFloat kShortFloats[] = {{"fp16", 10, 2048}, {"bf16", 16, 256}};

// The one operator of `node`, y of x, a and b, which are of the type, on these numbers.
float compute(const ShortFloat& type, const std::string& node, const std::vector<ir::Tensor>& inputs) {
  std::string declared, casts;
  const char* names[] = {"x", "a", "b"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string dims;
    for (const int64_t dim : inputs[i].dims) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
    declared += fmt::format("{}float[{}] in_{}", i == 0 ? "" : ", ", dims, names[i]);
    casts += fmt::format("{} = Cast<to = {}>(in_{}) ", names[i], type.onnx_type, names[i]);
  }
  const OnnxModel model = OnnxModel::from_proto(parse_text(
      fmt::format("<ir_version: 8, opset_import: [\"\" : 22, \"com.microsoft\" : 1]> g ({}) => (float[] out) "
                  "{{ {}{} out = Cast<to = 1>(y) }}",
                  declared, casts, node)));
  const ir::Graph graph = import_model(model, {profile_of(model, 1, 1)});
  EXPECT_EQ(ir::verify(graph), "");
  return elements_of<float>(ir::interpret(graph, inputs).at(0)).at(0);
}

TEST(ShortFloats, ABiasIsAddedBeforeAProductIsRounded) {
  for (const ShortFloat& type : kShortFloats) {
    SCOPED_TRACE(type.name);
    const ir::Tensor bias = floats({1}, {-type.edge});
    const ir::Tensor row = floats({1, 2}, {type.edge, 1}), column = floats({2, 1}, {1, 1});
    const ir::Tensor image = floats({1, 2, 1}, {type.edge, 1});
    EXPECT_EQ(compute(type, "y = Gemm(x, a, b)", {row, column, bias}), 1);
    EXPECT_EQ(compute(type, "y = Conv(x, a, b)", {image, floats({1, 2, 1}, {1, 1}), bias}), 1);
    EXPECT_EQ(compute(type, "y = ConvTranspose(x, a, b)", {image, floats({2, 1, 1}, {1, 1}), bias}), 1);
    EXPECT_EQ(compute(type, "y = com.microsoft.FusedConv<activation = \"Relu\">(x, a, b)",
                      {image, floats({1, 2, 1}, {1, 1}), bias}),
              1);
    EXPECT_EQ(compute(type, "y = com.microsoft.FusedGemm<activation = \"Relu\">(x, a, b)", {row, column, bias}), 1);
  }
}

TEST(ShortFloats, AProductIsScaledBeforeItIsRounded) {
  for (const ShortFloat& type : kShortFloats) {
    SCOPED_TRACE(type.name);
    const float nearest = type.edge == 256 ? 772 : 6148;  // of 3 * (edge + 1)
    const ir::Tensor row = floats({1, 2}, {type.edge, 1}), column = floats({2, 1}, {1, 1});
    EXPECT_EQ(compute(type, "y = Gemm<alpha = 3.0>(x, a)", {row, column}), nearest);
    EXPECT_EQ(compute(type, "y = com.microsoft.FusedMatMul<alpha = 3.0>(x, a)", {row, column}), nearest);
  }
}

TEST(ShortFloats, ANormalisationIsScaledAndShiftedBeforeItIsRounded) {
  // Normalised, the first number is -sqrt(0.5), which is -0.70703125 in both types.
  const ir::Tensor image = floats({1, 1, 3}, {0, 0, 3}), one = floats({1}, {1}), shift = floats({1}, {0.70703125f});
  for (const ShortFloat& type : kShortFloats) {
    SCOPED_TRACE(type.name);
    const float tolerance = 1e-6f, expected = 0.70703125f - 0.70710678f;
    EXPECT_NEAR(compute(type, "y = InstanceNormalization<epsilon = 1e-12>(x, a, b)", {image, one, shift}), expected,
                tolerance);
    EXPECT_NEAR(compute(type, "y = GroupNormalization<epsilon = 1e-12, num_groups = 1>(x, a, b)", {image, one, shift}),
                expected, tolerance);
  }
}

TEST(ShortFloats, FactorsOfABatchNormalisationKeepTheirDigits) {
  // (3 - mean) / sqrt(2) with a mean of 3: 3 * 0.7071 and 3 times a factor that is rounded are not level.
  for (const ShortFloat& type : kShortFloats) {
    SCOPED_TRACE(type.name);
    const std::string constants = fmt::format(
        "one_ = Constant<value_floats = [1.0]>() zero_ = Constant<value_floats = [0.0]>() three_ = "
        "Constant<value_floats = [3.0]>() two_ = Constant<value_floats = [2.0]>() one = Cast<to = {0}>(one_) "
        "zero = Cast<to = {0}>(zero_) three = Cast<to = {0}>(three_) two = Cast<to = {0}>(two_) ",
        type.onnx_type);
    EXPECT_NEAR(compute(type, constants + "y = BatchNormalization<epsilon = 1e-12>(x, one, zero, three, two)",
                        {floats({1, 1}, {3})}),
                0, 1e-6);
  }
}

}  // namespace
}  // namespace planwright::builder
