#include <gtest/gtest.h>

#include "builder/passes/passes.h"
#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::GraphBuilder;

std::string printed_after_layouts(GraphBuilder& b) {
  choose_layouts(b.graph);
  EXPECT_EQ(verify(b.graph), "");
  return print(b.graph);
}

TEST(ChooseLayouts, AConvolutionalBackboneStaysChannelsLast) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 8, 64, 0, 2);
  const ValueId x = b.input("x", {1, 3, h, 32});
  const ValueId a = b.conv("a", x, b.weights("wa", {8, 3, 3, 3}), 1);
  const ValueId r = b.relu("r", a);
  const ValueId c = b.conv("c", r, b.weights("wc", {8, 8, 3, 3}), 1);
  const ValueId sum = b.binary(PwOp::kAdd, "sum", c, r);
  b.output(b.reduce("mean", ReduceKind::kMean, sum, 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, h, 32]
  const %wa: fp32[8, 3, 3, 3]
  const %wc: fp32[8, 8, 3, 3]
  %a: fp32[1, 8, h, 32] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [1, 1]}  "a"
  %r: fp32[1, 8, h, 32] order=0,2,3,1 = Pointwise(%a) [max(in0, 0)]  "r"
  %c: fp32[1, 8, h, 32] order=0,2,3,1 = Conv(%r, %wc) {group=1 stride=1,1 [1, 1]}  "c"
  %sum: fp32[1, 8, h, 32] order=0,2,3,1 = Pointwise(%c, %r) [add(in0, in1)]  "sum"
  %mean: fp32[1, 8, 1, 1] order=0,2,3,1 = Reduce(%sum) {mean axes=2,3}  "mean"
  output %mean as "mean"
)");
}

TEST(ChooseLayouts, AConvolutionOfManyChannelsGetsThemInnermost) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 16, 8, 8});
  b.output(b.reduce("mean", ReduceKind::kMean, b.conv("a", x, b.weights("wa", {8, 16, 1, 1})), 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 16, 8, 8]
  const %wa: fp32[8, 16, 1, 1]
  %x#2: fp32[1, 16, 8, 8] order=0,2,3,1 = Copy(%x)
  %a: fp32[1, 8, 8, 8] order=0,2,3,1 = Conv(%x#2, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %mean: fp32[1, 8, 1, 1] order=0,2,3,1 = Reduce(%a) {mean axes=2,3}  "mean"
  output %mean as "mean"
)");
}

TEST(ChooseLayouts, TransposesOfAChannelsLastModelCostNothing) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 8, 8, 16});
  const ValueId first = b.transpose("first", x, {0, 3, 1, 2});
  const ValueId a = b.conv("a", first, b.weights("wa", {16, 16, 1, 1}));
  b.output(b.relu("y", b.transpose("last", a, {0, 2, 3, 1})));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 8, 8, 16]
  const %wa: fp32[16, 16, 1, 1]
  %first: fp32[1, 16, 8, 8] order=0,2,3,1 = Transpose(%x) {perm=0,3,1,2}  "first"
  %a: fp32[1, 16, 8, 8] order=0,2,3,1 = Conv(%first, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %last: fp32[1, 8, 8, 16] = Transpose(%a) {perm=0,2,3,1}  "last"
  %y: fp32[1, 8, 8, 16] = Pointwise(%last) [max(in0, 0)]  "y"
  output %y as "y"
)");
}

TEST(ChooseLayouts, ImageRowsBecomeTokensAndGoBack) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 8, 64, 0, 2), w = b.symbol("w", 8, 64, 0, 3);
  const ValueId x = b.input("x", {1, 3, h, w});
  const ValueId a = b.conv("a", x, b.weights("wa", {8, 3, 1, 1}));
  const ValueId tokens = b.transpose("tokens", b.reshape("flat", a, {1, 8, h * w}), {0, 2, 1});
  const ValueId mixed = b.matmul("mixed", tokens, b.weights("wm", {8, 8}));
  const ValueId image = b.reshape("image", b.transpose("back", mixed, {0, 2, 1}), {1, 8, h, w});
  b.output(b.reduce("mean", ReduceKind::kMean, b.conv("c", image, b.weights("wc", {8, 8, 1, 1})), 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, h, w]
  const %wa: fp32[8, 3, 1, 1]
  const %wm: fp32[8, 8]
  const %wc: fp32[8, 8, 1, 1]
  %a: fp32[1, 8, h, w] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %flat: fp32[1, 8, h*w] order=2,0,1 = Reshape(%a)  "flat"
  %tokens: fp32[1, h*w, 8] order=1,0,2 = Transpose(%flat) {perm=0,2,1}  "tokens"
  %mixed: fp32[1, h*w, 8] = MatMul(%tokens, %wm)  "mixed"
  %back: fp32[1, 8, h*w] order=0,2,1 = Transpose(%mixed) {perm=0,2,1}  "back"
  %image: fp32[1, 8, h, w] order=2,3,0,1 = Reshape(%back)  "image"
  %c: fp32[1, 8, h, w] order=0,2,3,1 = Conv(%image, %wc) {group=1 stride=1,1 [0, 0]}  "c"
  %mean: fp32[1, 8, 1, 1] order=0,2,3,1 = Reduce(%c) {mean axes=2,3}  "mean"
  output %mean as "mean"
)");
}

TEST(ChooseLayouts, WhatCannotBeReadInOrderIsCopiedBeforeAReshape) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 4, 5});
  const ValueId a = b.conv("a", x, b.weights("wa", {8, 3, 1, 1}));
  b.output(b.matmul("y", b.reshape("flat", a, {1, 160}), b.weights("wm", {160, 4})));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, 4, 5]
  const %wa: fp32[8, 3, 1, 1]
  const %wm: fp32[160, 4]
  %a: fp32[1, 8, 4, 5] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %a#2: fp32[1, 8, 4, 5] = Copy(%a)
  %flat: fp32[1, 160] = Reshape(%a#2)  "flat"
  %y: fp32[1, 4] = MatMul(%flat, %wm)  "y"
  output %y as "y"
)");
}

TEST(ChooseLayouts, AGraphOutputIsRowMajor) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 4, 5});
  const ValueId a = b.conv("a", x, b.weights("wa", {8, 3, 1, 1}));
  b.output(a);
  b.output(b.relu("y", a));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, 4, 5]
  const %wa: fp32[8, 3, 1, 1]
  %a#2: fp32[1, 8, 4, 5] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %a: fp32[1, 8, 4, 5] = Copy(%a#2)
  %y#2: fp32[1, 8, 4, 5] order=0,2,3,1 = Pointwise(%a#2) [max(in0, 0)]  "y"
  %y: fp32[1, 8, 4, 5] = Copy(%y#2)
  output %a as "a"
  output %y as "y"
)");
}

TEST(ChooseLayouts, AGraphOutputOfOneChannelNeedsNoCopy) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 4, 5});
  b.output(b.conv("a", x, b.weights("wa", {1, 3, 3, 3}), 1));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, 4, 5]
  const %wa: fp32[1, 3, 3, 3]
  %a: fp32[1, 1, 4, 5] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [1, 1]}  "a"
  output %a as "a"
)");
}

TEST(ChooseLayouts, OutputsThatNoStepWritesAreCopied) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId y = b.relu("y", x);
  b.output(x);
  b.output(y);
  b.output(y);
  b.output(b.constant("c", {1}, {3}));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[4]
  const %c: fp32[1] = {3}
  %y: fp32[4] = Pointwise(%x) [max(in0, 0)]  "y"
  %x#2: fp32[4] = Copy(%x)
  %y#2: fp32[4] = Copy(%y)
  %c#2: fp32[1] = Copy(%c)
  output %x#2 as "x"
  output %y as "y"
  output %y#2 as "y"
  output %c#2 as "c"
)");
}

TEST(ChooseLayouts, ConstantsAreStoredInTheOrderOfWhatReadsThem) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 4, 5});
  const ValueId a = b.conv("a", x, b.weights("wa", {16, 3, 1, 1}));
  const ValueId position = b.weights("position", {16, 4, 5}), scale = b.weights("scale", {16, 1, 1});
  const ValueId y = b.binary(PwOp::kMul, "scaled", b.binary(PwOp::kAdd, "placed", a, position), scale);
  b.output(b.reduce("mean", ReduceKind::kMean, y, 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, 4, 5]
  const %wa: fp32[16, 3, 1, 1]
  const %position#2: fp32[16, 4, 5] order=1,2,0
  const %scale: fp32[16, 1, 1]
  %a: fp32[1, 16, 4, 5] order=0,2,3,1 = Conv(%x, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %placed: fp32[1, 16, 4, 5] order=0,2,3,1 = Pointwise(%a, %position#2) [add(in0, in1)]  "placed"
  %scaled: fp32[1, 16, 4, 5] order=0,2,3,1 = Pointwise(%placed, %scale) [mul(in0, in1)]  "scaled"
  %mean: fp32[1, 16, 1, 1] order=0,2,3,1 = Reduce(%scaled) {mean axes=2,3}  "mean"
  output %mean as "mean"
)");
}

TEST(ChooseLayouts, HeadsAreWrittenAsTheirTransposeWantsThem) {
  GraphBuilder b;
  const ValueId q = b.input("q", {1, 4, 16, 8}), k = b.input("k", {1, 4, 16, 8}), v = b.input("v", {1, 4, 16, 8});
  const ValueId heads = b.add(OpKind::kAttention, "heads", {q, k, v}, AttentionParams{});
  const ValueId tokens = b.reshape("tokens", b.transpose("gathered", heads, {0, 2, 1, 3}), {1, 16, 32});
  b.output(b.matmul("y", tokens, b.weights("w", {32, 32})));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %q: fp32[1, 4, 16, 8]
  input %k: fp32[1, 4, 16, 8]
  input %v: fp32[1, 4, 16, 8]
  const %w: fp32[32, 32]
  %heads: fp32[1, 4, 16, 8] order=0,2,1,3 = Attention(%q, %k, %v) {scale=1}  "heads"
  %gathered: fp32[1, 16, 4, 8] = Transpose(%heads) {perm=0,2,1,3}  "gathered"
  %tokens: fp32[1, 16, 32] = Reshape(%gathered)  "tokens"
  %y: fp32[1, 16, 32] = MatMul(%tokens, %w)  "y"
  output %y as "y"
)");
}

TEST(ChooseLayouts, PiecesOfTheInputAreJoinedInTheOrderThatTheConvolutionWants) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 3, 8, 8});
  const ir::Shape half = {1, 3, 8, 4};
  ir::Node& even = b.node(OpKind::kSlice, "even", {x}, SliceParams{}, &half);
  even.scalars = {0, 0, 0, 0, 1, 1, 1, 2};
  ir::Node& odd = b.node(OpKind::kSlice, "odd", {x}, SliceParams{}, &half);
  odd.scalars = {0, 0, 0, 1, 1, 1, 1, 2};
  const ValueId joined =
      b.add(OpKind::kConcat, "joined", {even.outputs[0], odd.outputs[0]}, ConcatParams{1}, {1, 6, 8, 4});
  b.output(b.reduce("mean", ReduceKind::kMean, b.conv("a", joined, b.weights("wa", {8, 6, 1, 1})), 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 3, 8, 8]
  const %wa: fp32[8, 6, 1, 1]
  %even: fp32[1, 3, 8, 4] = Slice(%x) {[0, 0, 0, 0, 1, 1, 1, 2]}  "even"
  %odd: fp32[1, 3, 8, 4] = Slice(%x) {[0, 0, 0, 1, 1, 1, 1, 2]}  "odd"
  %joined: fp32[1, 6, 8, 4] order=0,2,3,1 = Concat(%even, %odd) {axis=1}  "joined"
  %a: fp32[1, 8, 8, 4] order=0,2,3,1 = Conv(%joined, %wa) {group=1 stride=1,1 [0, 0]}  "a"
  %mean: fp32[1, 8, 1, 1] order=0,2,3,1 = Reduce(%a) {mean axes=2,3}  "mean"
  output %mean as "mean"
)");
}

TEST(ChooseLayouts, AStacksNewAxisIsOutermost) {
  GraphBuilder b;
  const ValueId x = b.input("x", {7, 5});
  const ValueId real = b.reshape("real", b.unary(PwOp::kCos, "cos", x), {7, 5, 1});
  const ValueId imaginary = b.reshape("imaginary", b.unary(PwOp::kSin, "sin", x), {7, 5, 1});
  const ValueId pairs = b.add(OpKind::kConcat, "pairs", {real, imaginary}, ConcatParams{2}, {7, 5, 2});
  b.output(b.reduce("y", ReduceKind::kL2, pairs, 0b100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[7, 5]
  %cos: fp32[7, 5] = Pointwise(%x) [cos(in0)]  "cos"
  %real: fp32[7, 5, 1] = Reshape(%cos)  "real"
  %sin: fp32[7, 5] = Pointwise(%x) [sin(in0)]  "sin"
  %imaginary: fp32[7, 5, 1] = Reshape(%sin)  "imaginary"
  %pairs: fp32[7, 5, 2] order=2,0,1 = Concat(%real, %imaginary) {axis=2}  "pairs"
  %y: fp32[7, 5, 1] order=2,0,1 = Reduce(%pairs) {l2 axes=2}  "y"
  output %y as "y"
)");
}

TEST(ChooseLayouts, AStackOfChannelsIsInterleavedForItsConvolution) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 7, 5, 1});
  std::vector<ValueId> parts;
  for (const char* name : {"a", "b", "c", "d", "e"}) parts.push_back(b.relu(name, x));
  const ValueId joined = b.add(OpKind::kConcat, "joined", parts, ConcatParams{3}, {1, 7, 5, 5});
  const ValueId image = b.transpose("image", joined, {0, 3, 1, 2});
  b.output(b.reduce("y", ReduceKind::kMean, b.conv("conv", image, b.weights("w", {8, 5, 1, 1})), 0b1100));
  EXPECT_EQ(printed_after_layouts(b), R"(graph ""
  input %x: fp32[1, 7, 5, 1]
  const %w: fp32[8, 5, 1, 1]
  %a: fp32[1, 7, 5, 1] = Pointwise(%x) [max(in0, 0)]  "a"
  %b: fp32[1, 7, 5, 1] = Pointwise(%x) [max(in0, 0)]  "b"
  %c: fp32[1, 7, 5, 1] = Pointwise(%x) [max(in0, 0)]  "c"
  %d: fp32[1, 7, 5, 1] = Pointwise(%x) [max(in0, 0)]  "d"
  %e: fp32[1, 7, 5, 1] = Pointwise(%x) [max(in0, 0)]  "e"
  %joined: fp32[1, 7, 5, 5] = Concat(%a, %b, %c, %d, %e) {axis=3}  "joined"
  %image: fp32[1, 5, 7, 5] order=0,2,3,1 = Transpose(%joined) {perm=0,3,1,2}  "image"
  %conv: fp32[1, 8, 7, 5] order=0,2,3,1 = Conv(%image, %w) {group=1 stride=1,1 [0, 0]}  "conv"
  %y: fp32[1, 8, 1, 1] order=0,2,3,1 = Reduce(%conv) {mean axes=2,3}  "y"
  output %y as "y"
)");
}

}  // namespace
}  // namespace planwright::builder
