// RNN, GRU and LSTM: what is computed for all times at once, and what is left to the recurrence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using ::testing::HasSubstr;

// A GRU of 2 units in each of 2 directions.
std::string gru_text(const std::string& type, const std::string& attributes, const std::string& inputs) {
  return "(" + type + "[t, n, 3] x, " + type + "[2, 6, 3] w, " + type + "[2, 6, 2] r, " + type + "[2, 12] b) => (" +
         type + "[t, 2, n, 2] y) { [gru] y = GRU<hidden_size = 2, direction = \"bidirectional\"" + attributes + ">(" +
         inputs + ") }";
}

TEST(ImportRecurrent, OneProductGivesAllTimesAndDirectionsTheirGates) {
  const std::string text = ir::print(import_text(14, gru_text("float", "", "x, w, r")));
  EXPECT_THAT(text, HasSubstr(": fp32[t, n, 12] = MatMul(%x, "));
  EXPECT_THAT(text, HasSubstr("%y: fp32[t, 2, n, 2] = Rnn("));
}

TEST(ImportRecurrent, TheRecurrenceAddsTheBiasThatTheResetGateMultiplies) {
  const auto operands = [](const std::string& attributes) {
    const ir::Graph graph = import_text(14, gru_text("float", attributes, "x, w, r, b"));
    const ir::Node& node = graph.node(graph.order().back());
    EXPECT_EQ(node.kind, OpKind::kRnn);
    return node.inputs.size() > 2 ? ir::to_string(graph.value(node.inputs[2]).dims) : "none";
  };
  EXPECT_EQ(operands(""), "none");
  EXPECT_EQ(operands(", linear_before_reset = 1"), "[2, 2]");
}

TEST(ImportRecurrent, ShortTypesAreComputedInFp32) {
  const std::string text = ir::print(import_text(14, gru_text("float16", "", "x, w, r, b")));
  EXPECT_THAT(text, HasSubstr(": fp32[t, n, 12] = MatMul("));
  EXPECT_THAT(text, HasSubstr(": fp32[t, 2, n, 2] = Rnn("));
  EXPECT_THAT(text, HasSubstr("%y: fp16[t, 2, n, 2] = Pointwise("));
}

// h = 2x + 3h + 10 + 100.
TEST(ImportRecurrent, BiasesOfInputAndStateAreAdded) {
  const ir::Tensor y = run_text(14,
                                "(float[2, 1, 1] x) => (float[2, 1, 1, 1] y) <float[1, 1, 1] w = {2}, "
                                "float[1, 1, 1] r = {3}, float[1, 2] b = {10, 100}> { y = RNN<hidden_size = 1, "
                                "activations = [\"Affine\"]>(x, w, r, b) }",
                                {floats({2, 1, 1}, {1, 2})});
  EXPECT_EQ(elements_of<float>(y), (std::vector<float>{112, 4 + 3 * 112 + 110}));
}

// z = 0.5, r = 0.25 by bias alone; the candidate is x + R_h (r h) + 8 + 16 or x + r (R_h h + 8) + 16.
TEST(ImportRecurrent, GruBiases) {
  const auto result = [](const std::string& attributes) {
    const ir::Tensor y =
        run_text(14,
                 "(float[1, 1, 1] x, float[1, 1, 1] h) => (float[1, 1, 1, 1] y) <float[1, 3, 1] w = {0, 0, 1}, "
                 "float[1, 3, 1] r = {0, 0, 2}, float[1, 6] b = {0.25, 0.125, 16, 0.25, 0.125, 8}> { y = GRU"
                 "<hidden_size = 1, activations = [\"Affine\", \"Affine\"]" +
                     attributes + ">(x, w, r, b, , h) }",
                 {floats({1, 1, 1}, {1}), floats({1, 1, 1}, {4})});
    return elements_of<float>(y)[0];
  };
  EXPECT_EQ(result(""), 0.5f * (1 + 2 * (0.25f * 4) + 8 + 16) + 0.5f * 4);
  EXPECT_EQ(result(", linear_before_reset = 1"), 0.5f * (1 + 0.25f * (2 * 4 + 8) + 16) + 0.5f * 4);
}

TEST(ImportRecurrent, BiasesThatDoNotFitAreInvalid) {
  const auto code = [](const std::string& dims) {
    return import_failure(14, "(float[2, 1, 1] x, float[1, 1, 1] w, float[1, 1, 1] r, float" + dims +
                                  " b) => (float[2, 1, 1, 1] y) { y = RNN<hidden_size = 1>(x, w, r, b) }")
        .code;
  };
  EXPECT_EQ(code("[1, 2]"), StatusCode::kOk);
  for (const char* dims : {"[1, 1]", "[2, 2]", "[1, 3]", "[2]"}) EXPECT_EQ(code(dims), StatusCode::kInvalid) << dims;
}

}  // namespace
}  // namespace planwright::builder
