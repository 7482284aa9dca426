// fuse_pointwise and fuse_epilogues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FuseTest : public ::testing::Test, public GraphBuilder {
 protected:
  std::string fused(Pass pass, ValueId id) {
    output(id);
    return after_pass(pass, graph, {random_tensor({2, 4, 5, 6}, 1)});
  }

  ValueId x_ = input("x", {symbol("n", 1, 4), 4, 5, 6});
};

TEST_F(FuseTest, AChainIsOneProgram) {
  const ValueId sigmoid = unary(PwOp::kSigmoid, "sigmoid", x_);
  const ValueId product = binary(PwOp::kMul, "product", x_, sigmoid);
  const ValueId sum = binary(PwOp::kAdd, "sum", product, weights("c", {4, 1, 1}));
  EXPECT_EQ(fused(fuse_pointwise, relu("y", sum)),
            "  %y: fp32[n, 4, 5, 6] = Pointwise(%x, %c) [max(add(mul(in0, sigmoid(in0)), in1), 0)]  "
            "\"y\"+\"sum\"+\"product\"+\"sigmoid\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(FuseTest, AnOutputStays) {
  const ValueId y = relu("y", x_);
  output(y);
  EXPECT_EQ(fused(fuse_pointwise, unary(PwOp::kExp, "z", y)), "unchanged");
}

TEST_F(FuseTest, WhatTwoReadStays) {
  const ValueId y = unary(PwOp::kExp, "y", x_);
  output(reduce("sum", ReduceKind::kSum, y, 0b1100));
  EXPECT_EQ(fused(fuse_pointwise, unary(PwOp::kTanh, "z", y)), "unchanged");
}

TEST_F(FuseTest, WhatIsBroadcastStays) {
  const ValueId gate = unary(PwOp::kSigmoid, "gate", reduce("mean", ReduceKind::kMean, x_, 0b1100));
  EXPECT_EQ(fused(fuse_pointwise, binary(PwOp::kMul, "y", x_, gate)), "unchanged");
}

TEST_F(FuseTest, ValuesAreNarrowedAsInMemory) {
  const ir::Shape dims = graph.value(x_).dims;
  ir::Node& less = node(OpKind::kPointwise, "half", {x_}, NoParams{}, &dims, DType::kF16);
  SsaProgram program;
  program.store(program.binary(PwOp::kMul, program.load(0), program.constant(1.001)));
  less.program = *program.to_program();
  EXPECT_THAT(fused(fuse_pointwise, pointwise("y", {less.outputs[0]},
                                              [](SsaProgram& p, const auto& in) {
                                                return p.binary(PwOp::kMul, in[0], p.constant(3));
                                              })),
              HasSubstr("[mul(narrow.fp16(mul(in0, 1.001)), 3)]"));
}

TEST_F(FuseTest, ProgramsStayWithinTheirLimits) {
  ValueId y = x_;
  for (int i = 0; i < kMaxPwInstructions; ++i) y = scalar(PwOp::kAdd, "add", y, i + 1);
  const std::string text = fused(fuse_pointwise, y);
  for (ir::NodeId id : graph.order()) {
    EXPECT_LE(graph.node(id).program.size(), static_cast<size_t>(kMaxPwInstructions));
  }
  EXPECT_LE(graph.order().size(), 3u) << text;
}

TEST_F(FuseTest, EveryOutputOfAReaderIsKept) {
  const ValueId e = unary(PwOp::kExp, "e", x_);
  const ValueId y = unary(PwOp::kNeg, "y", e);
  ir::Node& both = graph.node(graph.value(y).producer);
  const ValueId z = graph.add_value("z", DType::kF32, graph.value(x_).dims).id;
  graph.value(z).producer = both.id;
  both.outputs.push_back(z);
  SsaProgram program(both.program);
  program.store(program.unary(PwOp::kAbs, program.load(0)), 1);
  both.program = *program.to_program();
  output(z);
  EXPECT_THAT(fused(fuse_pointwise, y), HasSubstr("t0 = exp(in0); out0 = neg(t0); out1 = abs(t0)"));
}

TEST_F(FuseTest, APointwiseNodeBecomesTheEpilogue) {
  const ValueId y = conv("y", x_, weights("w", {3, 4, 3, 3}), 1);
  const ValueId biased = binary(PwOp::kAdd, "biased", y, weights("b", {3, 1, 1}));
  EXPECT_EQ(fused(fuse_epilogues, relu("z", biased)),
            "  %z: fp32[n, 3, 5, 6] = Conv(%x, %w; %b) {group=1 stride=1,1 [1, 1]} [max(add(acc, in0), 0)]  "
            "\"y\"+\"biased\"+\"z\"\n"
            "  output %z as \"z\"\n");
}

TEST_F(FuseTest, AResidualIsAnOperandComputedBefore) {
  const ValueId y = conv("y", x_, weights("w", {4, 4, 3, 3}), 1);
  const ValueId late = unary(PwOp::kExp, "late", x_);  // computed after the convolution, read by its epilogue
  EXPECT_EQ(
      fused(fuse_epilogues, binary(PwOp::kAdd, "sum", y, late)),
      "  %late: fp32[n, 4, 5, 6] = Pointwise(%x) [exp(in0)]  \"late\"\n"
      "  %sum: fp32[n, 4, 5, 6] = Conv(%x, %w; %late) {group=1 stride=1,1 [1, 1]} [add(acc, in0)]  \"y\"+\"sum\"\n"
      "  output %sum as \"sum\"\n");
}

TEST_F(FuseTest, OfTwoContractionsTheLaterOneTakesTheSum) {
  const ValueId first = conv("first", x_, weights("w", {4, 4, 3, 3}), 1);
  const ValueId second = conv("second", x_, weights("v", {4, 4, 1, 1}));
  EXPECT_THAT(fused(fuse_epilogues, binary(PwOp::kAdd, "sum", first, second)),
              HasSubstr("%sum: fp32[n, 4, 5, 6] = Conv(%x, %v; %first)"));
}

TEST_F(FuseTest, AResultReadTwiceByOneProgramIsTheAccumulator) {
  const ValueId y = matmul("y", x_, weights("w", {6, 6}));
  EXPECT_THAT(fused(fuse_epilogues, pointwise("z", {y},
                                              [](SsaProgram& p, const auto& in) {
                                                return p.binary(PwOp::kMul, in[0], p.unary(PwOp::kSigmoid, in[0]));
                                              })),
              HasSubstr("MatMul(%x, %w) [mul(acc, sigmoid(acc))]"));
}

TEST_F(FuseTest, AContractionThatIsReadElsewhereKeepsItsResult) {
  const ValueId y = conv("y", x_, weights("w", {4, 4, 1, 1}));
  output(y);
  EXPECT_EQ(fused(fuse_epilogues, relu("z", y)), "unchanged");
}

TEST_F(FuseTest, AContractionThatIsBroadcastKeepsItsResult) {
  const ValueId mean = reduce("mean", ReduceKind::kMean, x_, 0b1100);
  const ValueId gate = conv("gate", mean, weights("w", {4, 4, 1, 1}));
  EXPECT_EQ(fused(fuse_epilogues, binary(PwOp::kMul, "y", x_, gate)), "unchanged");
}

TEST_F(FuseTest, OnlyFloatProgramsAreEpilogues) {
  const ValueId y = conv("y", x_, weights("w", {4, 4, 1, 1}));
  const ir::Shape dims = graph.value(y).dims;
  ir::Node& positive = node(OpKind::kPointwise, "positive", {y}, NoParams{}, &dims, DType::kBool);
  SsaProgram program;
  program.store(program.convert(program.binary(PwOp::kLess, program.constant(0), program.load(0)), PwClass::kUint));
  positive.program = *program.to_program();
  EXPECT_EQ(fused(fuse_epilogues, positive.outputs[0]), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
