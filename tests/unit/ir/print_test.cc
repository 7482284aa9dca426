#include <gtest/gtest.h>

#include "builder/ir/graph.h"
#include "tests/support/graph_builder.h"

namespace planwright::ir {
namespace {

using ::planwright::testing::GraphBuilder;

TEST(Print, OneNodeALine) {
  GraphBuilder b;
  b.graph.name = "net";
  const Dim n = b.symbol("n", 1, 4), h = b.symbol("h", 8, 64, 0, 2);
  const ValueId x = b.input("x", {n, 3, h, 8});
  const ValueId y = b.conv("y", x, b.weights("w", {4, 3, 3, 3}), 1);
  Node& conv = b.graph.node(b.graph.value(y).producer);
  SsaProgram program;
  program.store(program.binary(PwOp::kMax, program.binary(PwOp::kAdd, program.accumulator(), program.load(0)),
                               program.constant(0)));
  conv.program = *program.to_program();
  conv.inputs.push_back(b.constant("bias", {4, 1, 1}, {1, 2, 0.5, -1}));
  conv.onnx = {"conv1", "relu1"};
  b.output(b.reshape("flat", y, {n, h * 32}));
  b.graph.guards.push_back({true, h, n * 8, "fc", "rows meet"});
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_EQ(print(b.graph), R"(graph "net"
  input %x: fp32[n, 3, h, 8]
  const %w: fp32[4, 3, 3, 3]
  const %bias: fp32[4, 1, 1] = {1, 2, 0.5, -1}
  %y: fp32[n, 4, h, 8] = Conv(%x, %w; %bias) {group=1 stride=1,1 [1, 1]} [max(add(acc, in0), 0)]  "conv1"+"relu1"
  %flat: fp32[n, 32*h] = Reshape(%y)  "flat"
  output %flat as "flat"
  guard h == 8*n  "fc": rows meet
)");
}

TEST(Print, WhatAProgramUsesTwiceHasAName) {
  SsaProgram program;
  const PwValue x = program.load(0), s = program.unary(PwOp::kSigmoid, x);
  program.store(program.binary(PwOp::kMul, s, s), 1);
  program.store(program.convert(program.binary(PwOp::kAdd, s, x), PwClass::kInt), 0);
  EXPECT_EQ(print_program(*program.to_program()),
            "t0 = sigmoid(in0); out1 = mul(t0, t0); out0 = convert.i(add(t0, in0))");
}

TEST(Print, LayoutsAndViewsShow) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 2, 3, 4});
  b.graph.value(x).layout.order = {0, 2, 3, 1};
  const ValueId y = b.relu("y", x);
  b.graph.value(y).view = View{x, 2, {24, 1, 8, 2}};
  b.output(y);
  EXPECT_EQ(print(b.graph), R"(graph ""
  input %x: fp32[1, 2, 3, 4] order=0,2,3,1
  %y: fp32[1, 2, 3, 4] in %x at 2 strides=[24, 1, 8, 2] = Pointwise(%x) [max(in0, 0)]  "y"
  output %y as "y"
)");
}

}  // namespace
}  // namespace planwright::ir
