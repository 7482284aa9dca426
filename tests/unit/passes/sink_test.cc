// sink_expands and sink_reshapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;

class SinkTest : public ::testing::Test, public GraphBuilder {
 protected:
  std::string sunk(Pass pass, ValueId id) {
    output(id);
    std::vector<ir::Tensor> inputs;
    for (ValueId binding : graph.inputs) {
      std::vector<int64_t> dims;
      for (ir::Dim dim : graph.value(binding).dims) dims.push_back(dim.is_constant() ? dim.constant() : 3);
      inputs.push_back(random_tensor(dims, static_cast<unsigned>(binding)));
    }
    return after_pass(pass, graph, inputs);
  }

  ir::Dim n_ = symbol("n", 1, 4);
};

TEST_F(SinkTest, AProgramOnBroadcastDataRunsBefore) {
  const ValueId x = input("x", {n_, 1, 5});
  const ValueId y = relu("y", x);
  graph.value(y).dims[1] = 7;  // what absorbing an Expand leaves
  EXPECT_EQ(sunk(sink_expands, y),
            "  %y#2: fp32[n, 1, 5] = Pointwise(%x) [max(in0, 0)]  \"y\"\n"
            "  %y: fp32[n, 7, 5] = Expand(%y#2)  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(SinkTest, OperandsThatTogetherFillTheOutputStay) {
  const ValueId a = input("a", {n_, 5, 1}), b = input("b", {1, 1, 6});
  EXPECT_EQ(sunk(sink_expands, binary(PwOp::kAdd, "y", a, b)), "unchanged");
}

TEST_F(SinkTest, AReductionOfOtherAxesRunsBefore) {
  const ValueId x = input("x", {n_, 6, 1});
  const ValueId wide = add(OpKind::kExpand, "wide", {x}, NoParams{}, {n_, 6, 8});
  EXPECT_THAT(sunk(sink_expands, reduce("sum", ReduceKind::kSum, wide, 0b010)),
              HasSubstr("  %sum#2: fp32[n, 1, 1] = Reduce(%x) {sum axes=1}  \"sum\"+\"wide\"\n"
                        "  %sum: fp32[n, 1, 8] = Expand(%sum#2)"));
}

TEST_F(SinkTest, AReductionOfTheBroadcastAxisStays) {
  const ValueId x = input("x", {n_, 6, 1});
  const ValueId wide = add(OpKind::kExpand, "wide", {x}, NoParams{}, {n_, 6, 8});
  EXPECT_EQ(sunk(sink_expands, reduce("sum", ReduceKind::kSum, wide, 0b110)), "unchanged");
}

TEST_F(SinkTest, ABiasBehindASqueezeJoinsTheConvolution) {
  const ValueId x = input("x", {n_, 4, 9, 1});
  const ValueId squeezed = reshape("squeezed", conv("conv", x, weights("w", {3, 4, 2, 1})), {n_, 3, 8});
  EXPECT_EQ(sunk(sink_reshapes, binary(PwOp::kAdd, "y", squeezed, weights("b", {3, 1}))),
            "  %conv: fp32[n, 3, 8, 1] = Conv(%x, %w) {group=1 stride=1,1 [0, 0]}  \"conv\"\n"
            "  %y#2: fp32[n, 3, 8, 1] = Pointwise(%conv, %b#2) [add(in0, in1)]  \"y\"\n"
            "  %y: fp32[n, 3, 8] = Reshape(%y#2)  \"squeezed\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(SinkTest, OperandsReshapedAlikeMeet) {
  const ValueId x = input("x", {n_, 4, 6});
  const ValueId a = reshape("a", unary(PwOp::kExp, "exp", x), {n_, 24});
  const ValueId b = reshape("b", unary(PwOp::kTanh, "tanh", x), {n_, 24});
  EXPECT_THAT(sunk(sink_reshapes, binary(PwOp::kMul, "y", a, b)),
              HasSubstr("%y#2: fp32[n, 4, 6] = Pointwise(%exp, %tanh) [mul(in0, in1)]"));
}

TEST_F(SinkTest, OperandsOfOtherShapesStay) {
  const ValueId x = input("x", {n_, 4, 6});
  const ValueId flat = reshape("flat", unary(PwOp::kExp, "exp", x), {n_, 24});
  EXPECT_EQ(sunk(sink_reshapes, binary(PwOp::kMul, "y", flat, weights("w", {24}))), "unchanged");
  EXPECT_FALSE((binary(PwOp::kMul, "z", flat, input("other", {n_, 24})), sink_reshapes(graph)));
}

}  // namespace
}  // namespace planwright::builder
