#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;

class BatchNormTest : public ::testing::Test, public GraphBuilder {
 protected:
  // x * scale + shift, a constant of `dims` each: what BatchNormalization is imported as.
  ValueId batch_norm(const std::string& name, ValueId x, const std::vector<int64_t>& dims) {
    return pointwise(
        name, {x, weights(name + ".scale", dims), weights(name + ".shift", dims)},
        [](SsaProgram& p, const auto& in) { return p.binary(PwOp::kAdd, p.binary(PwOp::kMul, in[0], in[1]), in[2]); });
  }
  std::string folded(ValueId id) {
    output(id);
    return after_pass(fold_batch_norm, graph, {random_tensor({2, 4, 5, 6}, 1)});
  }

  ValueId x_ = input("x", {symbol("n", 1, 4), 4, 5, 6});
};

TEST_F(BatchNormTest, IntoAConvolution) {
  EXPECT_EQ(
      folded(batch_norm("bn", conv("y", x_, weights("w", {3, 4, 3, 3}), 1), {3, 1, 1})),
      "  %y: fp32[n, 3, 5, 6] = Conv(%x, %w#2; %y/bias) {group=1 stride=1,1 [1, 1]} [add(acc, in0)]  \"y\"+\"bn\"\n"
      "  output %y as \"bn\"\n");
}

TEST_F(BatchNormTest, IntoAGroupedConvolution) {
  EXPECT_THAT(folded(batch_norm("bn", conv("y", x_, weights("w", {4, 1, 3, 3}), 1, 4), {4, 1, 1})),
              HasSubstr("[add(acc, in0)]  \"y\"+\"bn\""));
}

TEST_F(BatchNormTest, AfterABias) {
  const ValueId y = conv("y", x_, weights("w", {3, 4, 1, 1}));
  ir::Node& node = graph.node(graph.value(y).producer);
  SsaProgram program;
  program.store(program.binary(PwOp::kAdd, program.accumulator(), program.load(0)));
  node.program = *program.to_program();
  node.inputs.push_back(weights("b", {3, 1, 1}));
  EXPECT_THAT(folded(batch_norm("bn", y, {1, 3, 1, 1})), HasSubstr("Conv(%x, %w#2; %y/bias)"));
}

TEST_F(BatchNormTest, IntoATransposedConvolution) {
  ConvTransposeParams params;
  params.group = 2;
  params.stride[0] = params.stride[1] = 2;
  const ir::Shape dims{graph.value(x_).dims[0], 6, 11, 13};
  ir::Node& made = node(OpKind::kConvTranspose, "y", {x_, weights("w", {4, 3, 3, 3})}, params, &dims);
  made.scalars = {0, 0};
  EXPECT_THAT(folded(batch_norm("bn", made.outputs[0], {6, 1, 1})), HasSubstr("ConvTranspose(%x, %w#2; %y/bias)"));
}

TEST_F(BatchNormTest, IntoAMatrix) {
  EXPECT_THAT(folded(batch_norm("bn", matmul("y", x_, weights("w", {6, 7})), {7})),
              HasSubstr("MatMul(%x, %w#2; %y/bias) [add(acc, in0)]"));
}

TEST_F(BatchNormTest, ScalesAloneNeedNoBiasAndShiftsLeaveTheWeights) {
  EXPECT_THAT(folded(scalar(PwOp::kDiv, "half", conv("y", x_, weights("w", {3, 4, 1, 1})), 3)),
              HasSubstr("Conv(%x, %w#2) {group=1 stride=1,1 [0, 0]}  \"y\"+\"half\""));
  graph.outputs.clear();
  graph.output_names.clear();
  EXPECT_THAT(folded(scalar(PwOp::kSub, "less", conv("z", x_, weights("v", {3, 4, 1, 1})), 3)),
              HasSubstr("Conv(%x, %v; %z/bias)"));
}

TEST_F(BatchNormTest, NotWhatIsReadElsewhere) {
  const ValueId y = conv("y", x_, weights("w", {3, 4, 1, 1}));
  output(y);
  EXPECT_EQ(folded(batch_norm("bn", y, {3, 1, 1})), "unchanged");
}

TEST_F(BatchNormTest, NotWhatIsNotOfAChannel) {
  EXPECT_EQ(folded(batch_norm("bn", conv("y", x_, weights("w", {3, 4, 1, 1})), {3, 5, 6})), "unchanged");
}

TEST_F(BatchNormTest, NotWhatIsNotAffine) {
  const ValueId y = conv("y", x_, weights("w", {3, 4, 1, 1}));
  EXPECT_EQ(folded(binary(PwOp::kMul, "square", y, y)), "unchanged");
}

TEST_F(BatchNormTest, NotWhatWouldNotBeFinite) {
  const ValueId y = conv("y", x_, weights("w", {3, 4, 1, 1}));
  EXPECT_FALSE((output(scalar(PwOp::kDiv, "wrong", y, 0)), fold_batch_norm(graph)));
}

}  // namespace
}  // namespace planwright::builder
