#include <gtest/gtest.h>

#include "builder/passes/passes.h"
#include "builder/storage.h"
#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::GraphBuilder;

std::string printed_after_views(GraphBuilder& b) {
  choose_layouts(b.graph);
  make_views(b.graph);
  EXPECT_EQ(verify(b.graph), "");
  return print(b.graph);
}

// The names of what became steps.
std::string steps(const GraphBuilder& b) {
  std::string names;
  for (const ir::NodeId id : steps_of(b.graph)) names += (names.empty() ? "" : ", ") + b.graph.node(id).name;
  return names;
}

ValueId slice(GraphBuilder& b, const std::string& name, ValueId x, const ir::Shape& dims, const ir::Shape& starts,
              const ir::Shape& steps) {
  ir::Node& node = b.node(OpKind::kSlice, name, {x}, SliceParams{}, &dims);
  node.scalars = starts;
  node.scalars.insert(node.scalars.end(), steps.begin(), steps.end());
  return node.outputs[0];
}

ValueId concat(GraphBuilder& b, const std::string& name, const std::vector<ValueId>& inputs, int axis) {
  ir::Node& node = b.node(OpKind::kConcat, name, inputs, ConcatParams{axis});
  return node.outputs[0];
}

TEST(MakeViews, MovementIsAMatterOfStrides) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 64);
  const ValueId x = b.input("x", {n, 6, 4});
  const ValueId a = b.relu("a", x);
  const ValueId part = slice(b, "part", a, {n, 3, 4}, {0, 2, 0}, {1, 1, 1});
  const ValueId rows = b.reshape("rows", b.transpose("t", part, {1, 0, 2}), {3, n, 2, 2});
  b.output(b.relu("y", rows));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[n, 6, 4]
  %a: fp32[n, 6, 4] = Pointwise(%x) [max(in0, 0)]  "a"
  %part: fp32[n, 3, 4] in %a at 8 strides=[24, 4, 1] = Slice(%a) {[0, 2, 0, 1, 1, 1]}  "part"
  %t: fp32[3, n, 4] order=1,0,2 in %a at 8 strides=[4, 24, 1] = Transpose(%part) {perm=1,0,2}  "t"
  %rows: fp32[3, n, 2, 2] order=1,0,2,3 in %a at 8 strides=[4, 24, 2, 1] = Reshape(%t)  "rows"
  %y: fp32[3, n, 2, 2] = Pointwise(%rows) [max(in0, 0)]  "y"
  output %y as "y"
)");
  EXPECT_EQ(steps(b), "a, y");
}

TEST(MakeViews, ConcatInputsAreComputedInTheirSlots) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 64);
  const ValueId x = b.input("x", {n, 4});
  const ValueId inner = concat(b, "inner", {b.relu("a", x), b.unary(PwOp::kNeg, "b", x)}, 1);
  const ValueId outer = concat(b, "outer", {inner, b.unary(PwOp::kExp, "c", x)}, 1);
  b.output(b.relu("y", outer));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[n, 4]
  %a: fp32[n, 4] in %outer strides=[12, 1] = Pointwise(%x) [max(in0, 0)]  "a"
  %b: fp32[n, 4] in %outer at 4 strides=[12, 1] = Pointwise(%x) [neg(in0)]  "b"
  %inner: fp32[n, 8] in %outer strides=[12, 1] = Concat(%a, %b) {axis=1}  "inner"
  %c: fp32[n, 4] in %outer at 8 strides=[12, 1] = Pointwise(%x) [exp(in0)]  "c"
  %outer: fp32[n, 12] = Concat(%inner, %c) {axis=1}  "outer"
  %y: fp32[n, 12] = Pointwise(%outer) [max(in0, 0)]  "y"
  output %y as "y"
)");
  EXPECT_EQ(steps(b), "a, b, c, y");
}

// Of an input that occurs twice, one slot is computed and the other a copy.
TEST(MakeViews, WhatCannotBeComputedInItsSlotIsCopiedThere) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 4});
  const ValueId twice = b.relu("twice", x);
  const ValueId shared = b.unary(PwOp::kNeg, "shared", x);
  b.output(shared);
  b.output(b.relu("y", concat(b, "all", {x, twice, twice, shared, b.constant("c", {2, 1}, {1, 2})}, 1)));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[2, 4]
  const %c: fp32[2, 1] = {1, 2}
  %twice: fp32[2, 4] in %all at 4 strides=[17, 1] = Pointwise(%x) [max(in0, 0)]  "twice"
  %shared: fp32[2, 4] = Pointwise(%x) [neg(in0)]  "shared"
  %x#2: fp32[2, 4] in %all strides=[17, 1] = Copy(%x)
  %twice#2: fp32[2, 4] in %all at 8 strides=[17, 1] = Copy(%twice)
  %shared#2: fp32[2, 4] in %all at 12 strides=[17, 1] = Copy(%shared)
  %c#2: fp32[2, 1] in %all at 16 strides=[17, 1] = Copy(%c)
  %all: fp32[2, 17] = Concat(%x#2, %twice, %twice#2, %shared#2, %c#2) {axis=1}  "all"
  %y: fp32[2, 17] = Pointwise(%all) [max(in0, 0)]  "y"
  output %shared as "shared"
  output %y as "y"
)");
  EXPECT_EQ(steps(b), "twice, shared, copy of x, copy of twice, copy of shared, copy of c, y");
}

TEST(MakeViews, AGraphOutputIsWrittenBehindItsMovement) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 6});
  b.output(b.reshape("y", b.relu("a", x), {3, 4}));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[2, 6]
  %a: fp32[2, 6] in %y strides=[6, 1] = Pointwise(%x) [max(in0, 0)]  "a"
  %y: fp32[3, 4] = Reshape(%a)  "y"
  output %y as "y"
)");
  EXPECT_EQ(steps(b), "a");
}

TEST(MakeViews, AViewThatIsAGraphOutputIsCopied) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 6});
  const ValueId a = b.relu("a", x);
  b.output(slice(b, "y", a, {2, 2}, {0, 1}, {1, 2}));
  b.output(b.transpose("z", x, {1, 0}));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[2, 6]
  %a: fp32[2, 6] = Pointwise(%x) [max(in0, 0)]  "a"
  %y#2: fp32[2, 2] in %a at 1 strides=[6, 2] = Slice(%a) {[0, 1, 1, 2]}  "y"
  %y: fp32[2, 2] = Copy(%y#2)
  %z#2: fp32[6, 2] in %x strides=[1, 6] = Transpose(%x) {perm=1,0}  "z"
  %z: fp32[6, 2] = Copy(%z#2)
  output %y as "y"
  output %z as "z"
)");
  EXPECT_EQ(steps(b), "a, copy of y, copy of z");
}

TEST(MakeViews, ReadersThatWantAnotherAccessGetACopy) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 6});
  const ValueId a = b.relu("a", x);
  const ValueId every_other = slice(b, "every_other", a, {4, 3}, {0, 0}, {1, 2});
  b.output(b.matmul("y", every_other, b.weights("w", {3, 5})));
  b.output(b.relu("z", every_other));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[4, 6]
  const %w: fp32[3, 5]
  %a: fp32[4, 6] = Pointwise(%x) [max(in0, 0)]  "a"
  %every_other: fp32[4, 3] in %a strides=[6, 2] = Slice(%a) {[0, 0, 1, 2]}  "every_other"
  %every_other#2: fp32[4, 3] = Copy(%every_other)
  %y: fp32[4, 5] = MatMul(%every_other#2, %w)  "y"
  %z: fp32[4, 3] = Pointwise(%every_other) [max(in0, 0)]  "z"
  output %y as "y"
  output %z as "z"
)");
  EXPECT_EQ(steps(b), "a, copy of every_other, y, z");
}

TEST(MakeViews, ASlotIsRefusedWhereAReaderCouldNotReadIt) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 6});
  const ValueId a = b.relu("a", x);
  b.output(b.matmul("product", b.reshape("flat", a, {1, 24}), b.weights("w", {24, 3})));
  b.output(b.relu("y", concat(b, "joined", {a, b.unary(PwOp::kNeg, "negative", x)}, 1)));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[4, 6]
  const %w: fp32[24, 3]
  %a: fp32[4, 6] = Pointwise(%x) [max(in0, 0)]  "a"
  %flat: fp32[1, 24] in %a strides=[24, 1] = Reshape(%a)  "flat"
  %product: fp32[1, 3] = MatMul(%flat, %w)  "product"
  %negative: fp32[4, 6] in %joined at 6 strides=[12, 1] = Pointwise(%x) [neg(in0)]  "negative"
  %a#2: fp32[4, 6] in %joined strides=[12, 1] = Copy(%a)
  %joined: fp32[4, 12] = Concat(%a#2, %negative) {axis=1}  "joined"
  %y: fp32[4, 12] = Pointwise(%joined) [max(in0, 0)]  "y"
  output %product as "product"
  output %y as "y"
)");
  EXPECT_EQ(steps(b), "a, product, negative, copy of a, y");
}

TEST(MakeViews, ExpandRepeatsWithoutCopying) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 2, 64);
  const ValueId x = b.input("x", {n, 1});
  const ValueId wide = b.add(OpKind::kExpand, "wide", {b.relu("a", x)}, NoParams{}, {3, n, 4});
  b.output(b.relu("y", wide));
  b.output(b.matmul("z", wide, b.weights("w", {4, 5})));
  EXPECT_EQ(printed_after_views(b), R"(graph ""
  input %x: fp32[n, 1]
  const %w: fp32[4, 5]
  %a: fp32[n, 1] = Pointwise(%x) [max(in0, 0)]  "a"
  %wide: fp32[3, n, 4] in %a strides=[0, 1, 0] = Expand(%a)  "wide"
  %y: fp32[3, n, 4] = Pointwise(%wide) [max(in0, 0)]  "y"
  %wide#2: fp32[3, n, 4] = Copy(%wide)
  %z: fp32[3, n, 5] = MatMul(%wide#2, %w)  "z"
  output %y as "y"
  output %z as "z"
)");
  EXPECT_EQ(steps(b), "a, y, copy of wide, z");
}

TEST(MakeViews, AnExpandOfAnAxisThatMayBeOneIsAStep) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 64), m = b.symbol("m", 1, 64, 1);
  const ValueId x = b.input("x", {n});
  b.input("shape", {m});
  b.graph.guards.push_back({true, n, m, "wide", "Expand keeps axis 0"});
  b.output(b.relu("y", b.add(OpKind::kExpand, "wide", {b.relu("a", x)}, NoParams{}, {m})));
  printed_after_views(b);
  EXPECT_EQ(steps(b), "a, wide, y");
}

TEST(MakeViews, ABackwardSliceIsAStep) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId a = b.relu("a", x);
  const ValueId back = slice(b, "back", a, {4}, {3}, {-1});
  b.output(b.relu("y", concat(b, "both", {a, back}, 0)));
  printed_after_views(b);
  EXPECT_EQ(steps(b), "a, back, copy of back, y");
}

}  // namespace
}  // namespace planwright::builder
