#include "builder/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_builder.h"

namespace planwright::ir {
namespace {

using ::planwright::testing::GraphBuilder;
using ::testing::ElementsAre;

TEST(Graph, NamesStayUnique) {
  Graph graph;
  EXPECT_EQ(graph.add_value("x", DType::kF32, {}).name, "x");
  EXPECT_EQ(graph.add_value("x", DType::kF32, {}).name, "x#2");
  EXPECT_EQ(graph.add_value("x#3", DType::kF32, {}).name, "x#3");
  EXPECT_EQ(graph.add_value("x", DType::kF32, {}).name, "x#4");
}

TEST(Graph, ReferencesToValuesAndNodesStayValid) {
  Graph graph;
  Value& first = graph.add_value("first", DType::kF32, {});
  Node& fill = graph.add_node(OpKind::kFill, FillParams{}, {}, {first.id});
  for (int i = 0; i < 1000; ++i) {
    const ValueId id = graph.add_value("v", DType::kF32, {}).id;
    graph.add_node(OpKind::kFill, FillParams{}, {}, {id});
  }
  EXPECT_EQ(&graph.value(0), &first);
  EXPECT_EQ(&graph.node(0), &fill);
}

TEST(Graph, AConstantOfTheWrongSizeIsRefused) {
  Graph graph;
  EXPECT_THROW(graph.add_constant("c", DType::kF32, {2, 2}, Bytes(15)), std::logic_error);
}

TEST(Graph, EditsKeepProducersAndUsers) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId y = b.relu("y", x);
  const ValueId z = b.binary(PwOp::kAdd, "z", y, y);
  b.output(z);
  b.output(y);
  EXPECT_EQ(b.graph.value(y).producer, 0);
  EXPECT_THAT(b.graph.users(y), ElementsAre(1));
  EXPECT_THAT(Users(b.graph).of(y), ElementsAre(1));
  EXPECT_TRUE(b.graph.is_output(y));

  b.graph.replace_uses(y, x);
  EXPECT_THAT(b.graph.users(x), ElementsAre(0, 1));
  EXPECT_THAT(b.graph.outputs, ElementsAre(z, x));

  b.graph.erase_node(0);
  EXPECT_EQ(b.graph.value(y).producer, kNone);
  EXPECT_FALSE(b.graph.has_node(0));
  EXPECT_THAT(b.graph.order(), ElementsAre(1));
  EXPECT_EQ(verify(b.graph), "");
}

TEST(Graph, NodesCanBeInsertedBeforeAnother) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId y = b.relu("y", x);
  const ValueId fill = b.graph.add_value("fill", DType::kF32, {4}).id;
  const NodeId id = b.graph.add_node(OpKind::kFill, FillParams{}, {}, {fill}, b.graph.value(y).producer).id;
  EXPECT_THAT(b.graph.order(), ElementsAre(id, 0));
}

TEST(Graph, StridesOfLayouts) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 9);
  const Shape dims{2, 3, h, 5};
  EXPECT_EQ(to_string(dense_strides(dims)), "[15*h, 5*h, 5, 1]");
  EXPECT_EQ(to_string(dense_strides(dims, {{0, 2, 3, 1}, kNone, 1})), "[15*h, 1, 15, 3]");
  const ValueId x = b.input("x", dims);
  const ValueId part = b.graph.add_value("part", DType::kF32, {2, 1, h, 5}).id;
  b.graph.value(part).view = View{x, h * 5, dense_strides(dims)};
  const Placement placement = placement_of(b.graph, part);
  EXPECT_EQ(placement.storage, x);
  EXPECT_EQ(placement.offset, h * 5);
  EXPECT_EQ(placement_of(b.graph, x).storage, x);
}

TEST(Graph, DefaultParamsBelongToTheirOperator) {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const auto op = static_cast<OpKind>(kind);
    EXPECT_EQ(to_bytes(default_params(op)).size(), params_size_of(op)) << name_of(op);
  }
}

// A copy is the same text, and neither sees what becomes of the other.
TEST(Graph, ACopyIsAGraphOfItsOwn) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId sum = b.binary(PwOp::kAdd, "sum", x, b.weights("w", {4}));
  b.output(b.relu("y", sum));
  const std::string text = print(b.graph);
  const std::vector<Tensor> inputs = {planwright::testing::random_tensor({4}, 1)};
  const std::vector<Tensor> results = interpret(b.graph, inputs);

  Graph copied = b.graph.copy();
  EXPECT_EQ(print(copied), text);
  EXPECT_EQ(verify(copied), "");
  EXPECT_EQ(interpret(copied, inputs)[0].data, results[0].data);

  copied.replace_uses(sum, x);
  copied.erase_node(0);
  copied.value(x).name = "renamed";
  copied.output_names[0] = "other";
  copied.add_constant("c", DType::kF32, {1}, Bytes(4));
  EXPECT_EQ(verify(copied), "");
  EXPECT_NE(print(copied), text);
  EXPECT_EQ(print(b.graph), text);
  EXPECT_EQ(verify(b.graph), "");
  EXPECT_THAT(b.graph.users(x), ElementsAre(0));

  const std::string changed = print(copied);
  b.graph.replace_uses(sum, x);
  b.graph.output_names[0] = "third";
  EXPECT_EQ(print(copied), changed);
}

// Names that were given go on from where they were in both.
TEST(Graph, NamesOfACopyStayUnique) {
  Graph graph;
  graph.add_value("x", DType::kF32, {});
  Graph copied = graph.copy();
  EXPECT_EQ(copied.add_value("x", DType::kF32, {}).name, "x#2");
  EXPECT_EQ(graph.add_value("x", DType::kF32, {}).name, "x#2");
}

}  // namespace
}  // namespace planwright::ir
