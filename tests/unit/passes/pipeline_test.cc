#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::expect_same;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Pipeline, AnImportedGraphThatIsBrokenIsRefused) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  b.output(b.relu("y", x));
  b.graph.value(b.graph.outputs[0]).dims = {5};
  EXPECT_THROW(run_passes(b.graph), std::logic_error);
}

TEST(Pipeline, AConvolutionWithAllThatFollowsIsOneNode) {
  GraphBuilder b;
  const ValueId x = b.input("x", {b.symbol("n", 1, 4), 4, 6, 6});
  const ValueId y = b.conv("conv", x, b.weights("w", {4, 4, 3, 3}), 1);
  const ValueId scaled = b.binary(PwOp::kMul, "scale", y, b.weights("s", {4, 1, 1}));
  const ValueId shifted = b.binary(PwOp::kAdd, "shift", scaled, b.weights("b", {4, 1, 1}));
  const ValueId bounded =
      b.scalar(PwOp::kMin, "six", b.scalar(PwOp::kMax, "zero", b.scalar(PwOp::kAdd, "three", shifted, 3), 0), 6);
  const ValueId swish = b.scalar(PwOp::kDiv, "sixth", b.binary(PwOp::kMul, "product", shifted, bounded), 6);
  b.output(b.binary(PwOp::kAdd, "sum", swish, x));

  const std::vector<ir::Tensor> input{random_tensor({2, 4, 6, 6}, 1)};
  const std::vector<ir::Tensor> before = ir::interpret(b.graph, input);
  std::vector<std::string> passes;
  PassOptions options;
  options.observe = [&](const std::string& pass, const ir::Graph& graph) {
    EXPECT_EQ(verify(graph), "") << pass;
    passes.push_back(pass);
  };
  run_passes(b.graph, options);
  expect_same(before, ir::interpret(b.graph, input));
  EXPECT_THAT(passes, Contains("fold_batch_norm"));
  EXPECT_THAT(passes, Contains("fuse_epilogues"));
  int contractions = 0;
  for (ir::NodeId id : b.graph.order()) {
    const ir::Node& node = b.graph.node(id);
    EXPECT_NE(node.kind, OpKind::kPointwise);
    if (node.kind != OpKind::kConv) continue;
    ++contractions;
    EXPECT_EQ(ir::print_program(node.program),
              "t0 = add(acc, in0); add(div(mul(t0, min(max(add(t0, 3), 0), 6)), 6), in1)");
    EXPECT_EQ(node.onnx.size(), 9u);
  }
  EXPECT_EQ(contractions, 1);
}

// As exporters write weights that they quantised: a Cast and a Mul, which folding would widen for good.
TEST(Pipeline, WeightsThatAModelKeepsInInt8StayInInt8) {
  GraphBuilder b;
  const ValueId x = b.input("x", {b.symbol("n", 1, 4), 128});
  ir::Bytes integers;
  for (int i = 0; i < 128 * 160; ++i) integers.push_back(static_cast<std::byte>(i * 37 % 251 - 125));
  const ValueId w = b.graph.add_constant("w", DType::kI8, {128, 160}, std::move(integers)).id;
  const ValueId wide = b.node(OpKind::kPointwise, "cast", {w}, NoParams{}).outputs[0];
  ir::SsaProgram cast;
  cast.store(cast.convert(cast.load(0, PwClass::kInt), PwClass::kFloat));
  b.graph.node(b.graph.value(wide).producer).program = *cast.to_program();
  const ValueId weights = b.binary(PwOp::kMul, "scaled", wide, b.weights("s", {1, 160}));
  b.output(b.binary(PwOp::kAdd, "y", b.matmul("product", x, weights), b.weights("bias", {160})));

  const std::vector<ir::Tensor> input{random_tensor({3, 128}, 1)};
  const std::vector<ir::Tensor> before = ir::interpret(b.graph, input);
  run_passes(b.graph);
  expect_same(before, ir::interpret(b.graph, input));
  ASSERT_EQ(b.graph.order().size(), 1u);
  const ir::Node& node = b.graph.node(b.graph.order()[0]);
  EXPECT_EQ(node.kind, OpKind::kBlockMatMul);
  EXPECT_EQ(b.graph.value(node.inputs[1]).dtype, DType::kI8);
  EXPECT_EQ(ir::print_program(node.program), "add(acc, in0)");
}

}  // namespace
}  // namespace planwright::builder
