#include "builder/ir/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/types/error.h"
#include "tests/support/graph_builder.h"

namespace planwright::ir {
namespace {

using ::planwright::testing::bytes_of;
using ::planwright::testing::elements_of;
using ::planwright::testing::GraphBuilder;
using ::planwright::testing::random_tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string failure(const Graph& graph, const std::vector<Tensor>& inputs) {
  try {
    interpret(graph, inputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalid);
    return error.what();
  }
  return "no failure";
}

TEST(Interpret, RunsNodesAtTheShapesOfItsInputs) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 8);
  const ValueId x = b.input("x", {n, 2});
  const ValueId sum = b.binary(PwOp::kAdd, "sum", x, b.constant("c", {2}, {1, 10}));
  b.output(b.matmul("y", sum, b.constant("w", {2, 1}, {1, -1})));
  b.output(sum);
  const auto outputs = interpret(b.graph, {{DType::kF32, {3, 2}, bytes_of<float>({1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(outputs[0].dims, ElementsAre(3, 1));
  EXPECT_THAT(elements_of<float>(outputs[0]), ElementsAre(-10, -10, -10));
  EXPECT_THAT(elements_of<float>(outputs[1]), ElementsAre(2, 12, 4, 14, 6, 16));
}

TEST(Interpret, ShapeValuesAreTheDims) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 8);
  b.input("x", {n, 2});
  const Shape dims{2};
  b.node(OpKind::kShapeValues, "shape", {}, ShapeValuesParams{2}, &dims, DType::kI64).scalars = {n * 2, 7};
  b.output(b.graph.value_count() - 1);
  EXPECT_THAT(elements_of<int64_t>(interpret(b.graph, {random_tensor({5, 2}, 1)})[0]), ElementsAre(10, 7));
}

TEST(Interpret, GraphOutputsMayBeInputsAndConstants) {
  GraphBuilder b;
  b.output(b.input("x", {2}));
  b.output(b.constant("c", {1}, {3}));
  const auto outputs = interpret(b.graph, {{DType::kF32, {2}, bytes_of<float>({1, 2})}});
  EXPECT_THAT(elements_of<float>(outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(elements_of<float>(outputs[1]), ElementsAre(3));
}

TEST(Interpret, GuardsAreChecked) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 64);
  b.output(b.relu("y", b.input("x", {h})));
  b.graph.guards.push_back({true, mod(h, 4), 0, "up", "rows come in fours"});
  EXPECT_EQ(interpret(b.graph, {random_tensor({8}, 1)}).size(), 1u);
  EXPECT_THAT(failure(b.graph, {random_tensor({9}, 1)}), HasSubstr("up: h - 4*floor(h/4) (1) must be equal to 0 (0)"));
}

TEST(Interpret, InputsMustFit) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 64);
  b.output(b.relu("y", b.input("x", {h, 2})));
  EXPECT_THAT(failure(b.graph, {}), HasSubstr("0 tensors for 1 graph inputs"));
  EXPECT_THAT(failure(b.graph, {random_tensor({3, 3}, 1)}), HasSubstr("the tensor for input x is not fp32[h, 2]"));
  EXPECT_THAT(failure(b.graph, {{DType::kI32, {3, 2}, Bytes(24)}}), HasSubstr("input x"));
  EXPECT_THAT(failure(b.graph, {{DType::kF32, {3, 2}, Bytes(23)}}), HasSubstr("input x"));
}

TEST(Interpret, AKernelsRefusalNamesTheNode) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4}), i = b.constant_int("i", {1}, {9});
  b.output(b.add(OpKind::kGather, "pick", {x, i}, GatherParams{0}));
  try {
    interpret(b.graph, {random_tensor({4}, 1)});
    ADD_FAILURE() << "an index out of range was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("pick (Gather)"));
  }
}

}  // namespace
}  // namespace planwright::ir
