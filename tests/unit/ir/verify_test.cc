// Every rule of the verifier, broken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_builder.h"

namespace planwright::ir {
namespace {

using ::planwright::testing::GraphBuilder;
using ::testing::HasSubstr;

// x -> relu -> y -> conv -> z, sound until a test breaks it.
class VerifyTest : public ::testing::Test, public GraphBuilder {
 protected:
  VerifyTest() { output(z_); }

  void SetUp() override { ASSERT_EQ(verify(graph), ""); }
  Node& relu() { return graph.node(graph.value(y_).producer); }
  Node& conv() { return graph.node(graph.value(z_).producer); }

  Dim n_ = symbol("n", 1, 8), h_ = symbol("h", 4, 64);
  ValueId x_ = input("x", {n_, 3, h_, 8});
  ValueId y_ = GraphBuilder::relu("y", x_);
  ValueId w_ = weights("w", {4, 3, 3, 3});
  ValueId z_ = GraphBuilder::conv("z", y_, w_, 1);
};

TEST_F(VerifyTest, MessagesNameTheNode) {
  conv().inputs[0] = 99;
  EXPECT_EQ(verify(graph), "node 1 'z' (Conv): values exist: value 99 does not exist");
}

TEST_F(VerifyTest, Arity) {
  conv().inputs.pop_back();
  conv().core_inputs = 1;
  EXPECT_THAT(verify(graph), HasSubstr("arity: 1 inputs"));
}

TEST_F(VerifyTest, ARequiredInputIsGiven) {
  conv().inputs[1] = kNone;
  EXPECT_THAT(verify(graph), HasSubstr("arity: input 1 is missing"));
}

TEST_F(VerifyTest, OutputCount) {
  conv().outputs.push_back(graph.add_value("more", DType::kF32, {}).id);
  EXPECT_THAT(verify(graph), HasSubstr("arity: 2 outputs"));
}

TEST_F(VerifyTest, CoreInputs) {
  relu().core_inputs = 1;
  EXPECT_THAT(verify(graph), HasSubstr("arity: a pointwise operator has inputs"));
}

TEST_F(VerifyTest, ParamsOfTheOperator) {
  conv().params = PoolParams{};
  EXPECT_THAT(verify(graph), HasSubstr("params: its params are another operator's"));
}

TEST_F(VerifyTest, Scalars) {
  conv().scalars.pop_back();
  EXPECT_THAT(verify(graph), HasSubstr("params: 1 scalars where it takes 2"));
}

TEST_F(VerifyTest, DefinedBeforeUse) {
  graph.set_order({1, 0});
  EXPECT_THAT(verify(graph), HasSubstr("defined before use: %y is read before it is computed"));
}

TEST_F(VerifyTest, OneProducer) {
  graph.add_node(OpKind::kPointwise, NoParams{}, {x_}, {y_}).program = relu().program;
  graph.value(y_).producer = 0;
  EXPECT_THAT(verify(graph), HasSubstr("one producer: %y is computed twice"));
}

TEST_F(VerifyTest, TheProducerIsRemembered) {
  graph.value(y_).producer = 1;
  EXPECT_THAT(verify(graph), HasSubstr("one producer: %y names another producer"));
}

TEST_F(VerifyTest, AConstantIsNotComputed) {
  graph.value(y_).constant = graph.value(w_).constant;
  EXPECT_NE(verify(graph), "");
}

TEST_F(VerifyTest, PointwiseHasAProgram) {
  relu().program.clear();
  EXPECT_THAT(verify(graph), HasSubstr("program: a pointwise operator without a program"));
}

TEST_F(VerifyTest, TheProgramIsValid) {
  relu().program[0].operand = 5;
  EXPECT_THAT(verify(graph), HasSubstr("program: an invalid program"));
}

TEST_F(VerifyTest, OnlySomeOperatorsTakePrograms) {
  const ValueId s = add(OpKind::kSoftmax, "s", {z_}, SoftmaxParams{1, 0});
  graph.node(graph.value(s).producer).program = relu().program;
  EXPECT_THAT(verify(graph), HasSubstr("an operator that takes no program has one"));
}

TEST_F(VerifyTest, EpilogueOperandsNeedAProgram) {
  conv().inputs.push_back(constant("bias", {4, 1, 1}, {1, 2, 3, 4}));
  EXPECT_THAT(verify(graph), HasSubstr("operands for a program it does not have"));
}

TEST_F(VerifyTest, ProgramsLoadInTheOperandsClass) {
  graph.value(x_).dtype = DType::kI64;
  EXPECT_THAT(verify(graph), HasSubstr("classes: its program loads %x in another class"));
}

TEST_F(VerifyTest, Types) {
  graph.value(z_).dtype = DType::kF16;
  EXPECT_THAT(verify(graph), HasSubstr("types: %z is fp16, it must be fp32"));
}

TEST_F(VerifyTest, InferredDims) {
  const ValueId s = add(OpKind::kSoftmax, "s", {z_}, SoftmaxParams{1, 0});
  graph.value(s).dims[1] = 5;
  EXPECT_THAT(verify(graph), HasSubstr("shapes: %s of shape [n, 5, h, 8] must have shape [n, 4, h, 8]"));
}

TEST_F(VerifyTest, WhatInferenceRefuses) {
  const ValueId s = add(OpKind::kSoftmax, "s", {z_}, SoftmaxParams{1, 0});
  graph.node(graph.value(s).producer).as<SoftmaxParams>().axis = 4;
  EXPECT_THAT(verify(graph), HasSubstr("axis 4 is not in rank 4"));
}

TEST_F(VerifyTest, DimsThatMayDifferNeedAGuard) {
  const Dim k = symbol("k", 4, 64);
  binary(PwOp::kAdd, "sum", z_, input("r", {n_, 4, k, 8}));
  EXPECT_EQ(verify(graph), "");
  graph.guards.clear();
  EXPECT_THAT(verify(graph), HasSubstr("shapes: no guard for h == k"));
}

TEST_F(VerifyTest, OperandsBroadcastToTheOutput) {
  graph.value(y_).dims[2] = h_ + 1;
  EXPECT_THAT(verify(graph), HasSubstr("broadcast to output: %x of shape [n, 3, h, 8] does not broadcast"));
}

TEST_F(VerifyTest, OutputsOfAProgramHaveOneShape) {
  Node& node = relu();
  node.outputs.push_back(graph.add_value("second", DType::kF32, {3}).id);
  graph.value(node.outputs[1]).producer = node.id;
  node.program.push_back(node.program.back());
  node.program.back().operand = 1;
  EXPECT_THAT(verify(graph), HasSubstr("its outputs differ in shape"));
}

TEST_F(VerifyTest, WindowShape) {
  graph.value(z_).dims[1] = 5;
  EXPECT_THAT(verify(graph), HasSubstr("window shape: %z of shape [n, 5, h, 8] must have 4 channels"));
  graph.value(z_).dims = {n_, 4, h_};
  EXPECT_THAT(verify(graph), HasSubstr("window shape"));
}

TEST_F(VerifyTest, ReshapeKeepsItsElements) {
  reshape("flat", z_, {n_, h_ * 32});
  EXPECT_EQ(verify(graph), "");
  reshape("wrong", z_, {n_, h_ * 31});
  EXPECT_THAT(verify(graph), HasSubstr("element count: 32*n*h elements become 31*n*h"));
}

TEST_F(VerifyTest, AGuardCanMakeAReshapeRight) {
  const ValueId flat = reshape("blocks", z_, {n_, floor_div(h_, 4), 4, 32});
  EXPECT_THAT(verify(graph), HasSubstr("element count"));
  graph.guards.push_back({true, mod(h_, 4), 0, "blocks", "rows come in fours"});
  EXPECT_EQ(verify(graph), "");
  graph.value(flat).dims[3] = 16;
  EXPECT_THAT(verify(graph), HasSubstr("element count"));
}

TEST_F(VerifyTest, Expand) {
  add(OpKind::kExpand, "big", {z_}, NoParams{}, {2, n_, 4, h_, 8});
  EXPECT_EQ(verify(graph), "");
  add(OpKind::kExpand, "wrong", {z_}, NoParams{}, {n_, 4, h_, 16});
  EXPECT_THAT(verify(graph), HasSubstr("expand: [n, 4, h, 8] does not broadcast to [n, 4, h, 16]"));
}

TEST_F(VerifyTest, Rank) {
  const Shape dims{n_, 4, h_};
  Node& slice = node(OpKind::kSlice, "slice", {z_}, SliceParams{}, &dims);
  slice.scalars = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_THAT(verify(graph), HasSubstr("rank: rank 4 becomes 3"));
}

TEST_F(VerifyTest, PadAddsUp) {
  const Shape dims{n_, 4, h_ + 3, 8};
  Node& pad = node(OpKind::kPad, "pad", {z_}, PadParams{}, &dims);
  pad.scalars = {0, 0, 1, 0, 0, 0, 2, 0};
  EXPECT_EQ(verify(graph), "");
  pad.scalars[2] = 2;
  EXPECT_THAT(verify(graph), HasSubstr("pad: axis 2 must have length h + 4, not h + 3"));
}

TEST_F(VerifyTest, ValueCount) {
  const Shape dims{3};
  node(OpKind::kShapeValues, "shape", {}, ShapeValuesParams{2}, &dims, DType::kI64).scalars = {n_, h_};
  EXPECT_THAT(verify(graph), HasSubstr("value count: 2 values make shape [3]"));
}

TEST_F(VerifyTest, ConstantsHaveTheirSize) {
  graph.value(w_).constant = std::make_shared<const Bytes>(8);
  EXPECT_THAT(verify(graph), HasSubstr("values: %w: 8 bytes for 108 elements"));
  graph.value(w_).dims[0] = n_;
  EXPECT_THAT(verify(graph), HasSubstr("a constant of unknown size"));
}

TEST_F(VerifyTest, ValuesAreSound) {
  graph.value(y_).dims[2] = -1;
  EXPECT_THAT(verify(graph), HasSubstr("a negative dim"));
  graph.value(y_).dims = Shape(9, 1);
  EXPECT_THAT(verify(graph), HasSubstr("rank 9 is over 8"));
}

TEST_F(VerifyTest, KnownElementsAreCounted) {
  graph.value(y_).elements = Shape{1, 2};
  EXPECT_THAT(verify(graph), HasSubstr("2 known elements of 24*n*h"));
}

TEST_F(VerifyTest, NamesAreUnique) {
  graph.value(y_).name = "x";
  EXPECT_THAT(verify(graph), HasSubstr("two values are called %x"));
}

TEST_F(VerifyTest, LayoutsArePermutations) {
  graph.value(y_).layout.order = {0, 2, 3, 3};
  EXPECT_THAT(verify(graph), HasSubstr("its layout is no permutation"));
}

TEST_F(VerifyTest, ViewsLieOnABase) {
  graph.value(y_).view = View{y_, 0, Shape(4, 1)};
  EXPECT_THAT(verify(graph), HasSubstr("its view has no base"));
  graph.value(y_).view = View{x_, 0, Shape(3, 1)};
  EXPECT_THAT(verify(graph), HasSubstr("its view has not one stride an axis"));
  graph.value(y_).view = View{x_, 0, Shape(4, 1)};
  EXPECT_EQ(verify(graph), "");
  graph.value(z_).view = View{y_, 0, Shape(4, 1)};
  EXPECT_THAT(verify(graph), HasSubstr("is a view itself"));
}

TEST_F(VerifyTest, Bindings) {
  graph.output_names.clear();
  EXPECT_THAT(verify(graph), HasSubstr("bindings: not one name an output"));
  graph.outputs = {99};
  EXPECT_THAT(verify(graph), HasSubstr("bindings: graph output 99 does not exist"));
  graph.inputs.push_back(y_);
  EXPECT_THAT(verify(graph), HasSubstr("bindings: graph input %y is computed"));
  graph.inputs = {x_, x_};
  EXPECT_THAT(verify(graph), HasSubstr("bindings: %x is an input twice"));
}

TEST_F(VerifyTest, Order) {
  graph.set_order({0, 0, 1});
  EXPECT_THAT(verify(graph), HasSubstr("order: node 0 is in the order twice"));
  graph.set_order({0, 7});
  EXPECT_THAT(verify(graph), HasSubstr("order: node 7 in the order does not exist"));
}

TEST_F(VerifyTest, OutputsAreComputed) {
  graph.set_order({0});
  EXPECT_THAT(verify(graph), HasSubstr("outputs: nothing computes %z"));
}

}  // namespace
}  // namespace planwright::ir
