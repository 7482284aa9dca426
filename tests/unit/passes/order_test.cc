#include <gtest/gtest.h>

#include "builder/passes/passes.h"
#include "builder/storage.h"
#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::GraphBuilder;

std::string order_of(const GraphBuilder& b) {
  std::string names;
  for (const ir::NodeId id : b.graph.order()) names += (names.empty() ? "" : " ") + b.graph.node(id).name;
  return names;
}

TEST(OrderNodes, AChainKeepsItsOrder) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 100});
  b.output(b.relu("c", b.relu("b", b.relu("a", x))));
  EXPECT_FALSE(order_nodes(b.graph));
  EXPECT_EQ(order_of(b), "a b c");
}

TEST(OrderNodes, ABranchIsFinishedBeforeTheNextBegins) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 64);
  const ValueId x = b.input("x", {n, 100});
  // Interleaved as an exporter may write them: all three large values would be alive at once.
  std::vector<ValueId> large, small;
  for (const char* name : {"a", "b", "c"}) large.push_back(b.relu(name, x));
  for (const ValueId id : large) {
    small.push_back(b.reduce(b.graph.value(id).name + "_sum", ReduceKind::kSum, id, 0b10));
  }
  b.output(b.binary(PwOp::kAdd, "y", b.binary(PwOp::kAdd, "s", small[0], small[1]), small[2]));
  EXPECT_TRUE(order_nodes(b.graph));
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_EQ(order_of(b), "a a_sum b b_sum s c c_sum y");
}

TEST(OrderNodes, TheLargerBranchGoesFirst) {
  GraphBuilder b;
  const ValueId x = b.input("x", {1, 1});
  const ValueId kept = b.add(OpKind::kTile, "kept", {x}, NoParams{}, {1, 50});
  const ValueId wide = b.add(OpKind::kTile, "wide", {x}, NoParams{}, {1, 1000});
  const ValueId sum = b.reduce("sum", ReduceKind::kSum, b.relu("relu", wide), 0b10);
  b.output(b.binary(PwOp::kAdd, "y", kept, sum));
  EXPECT_TRUE(order_nodes(b.graph));
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_EQ(order_of(b), "wide relu sum kept y");
}

// ---- Results over inputs

TEST(ReuseInputs, APointwiseChainStaysInOneBuffer) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 100});
  const ValueId a = b.relu("a", x), c = b.relu("c", a), d = b.relu("d", c);
  b.output(b.relu("y", d));
  EXPECT_TRUE(reuse_inputs(b.graph));
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_FALSE(b.graph.value(a).view) << "the caller's input is not written";
  EXPECT_EQ(placement_of(b.graph, c).storage, a);
  EXPECT_EQ(placement_of(b.graph, d).storage, a);
  EXPECT_FALSE(b.graph.value(b.graph.outputs[0]).view) << "the output is the caller's buffer";
}

TEST(ReuseInputs, AnInputThatIsReadLaterIsKept) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 100});
  const ValueId a = b.relu("a", x), c = b.relu("c", a);
  b.output(b.binary(PwOp::kAdd, "y", a, b.reduce("r", ReduceKind::kSum, c, 0b10)));
  EXPECT_FALSE(reuse_inputs(b.graph));
}

TEST(ReuseInputs, ATransposedOperandIsNotOverwritten) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 4});
  const ValueId a = b.relu("a", x);
  const ValueId sum = b.binary(PwOp::kAdd, "sum", a, b.transpose("t", a, {1, 0}));
  b.output(b.reduce("y", ReduceKind::kSum, sum, 0b10));
  make_views(b.graph);
  EXPECT_FALSE(reuse_inputs(b.graph));
}

TEST(ReuseInputs, OtherTypesAndDimsAreNotOverwritten) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 4});
  const ValueId row = b.reduce("row", ReduceKind::kSum, x, 0b1);
  const ValueId wide = b.binary(PwOp::kAdd, "wide", row, x);
  b.output(b.reduce("y", ReduceKind::kSum, wide, 0b10));
  EXPECT_FALSE(reuse_inputs(b.graph));
}

TEST(ReuseInputs, ViewsOfTheResultMoveWithIt) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4, 100});
  const ValueId a = b.relu("a", x), c = b.relu("c", a);
  const ValueId flat = b.reshape("flat", c, {400});
  b.output(b.reduce("y", ReduceKind::kSum, b.relu("d", flat), 0b1));
  make_views(b.graph);
  EXPECT_TRUE(reuse_inputs(b.graph));
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_EQ(placement_of(b.graph, flat).storage, a);
  EXPECT_EQ(to_string(placement_of(b.graph, flat).strides), "[1]");
}

}  // namespace
}  // namespace planwright::builder
