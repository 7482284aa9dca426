// nodes_before_logarithms.
#include "builder/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/passes/passes.h"
#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using planwright::testing::GraphBuilder;

class PrecisionTest : public ::testing::Test, public GraphBuilder {
 protected:
  std::set<std::string> kept() {
    std::set<std::string> names;
    for (const ir::NodeId id : nodes_before_logarithms(graph)) names.insert(graph.node(id).name);
    return names;
  }

  ir::ValueId product(const std::string& name, ir::ValueId x) { return matmul(name, x, weights(name + "_w", {8, 8})); }

  ir::ValueId x_ = input("x", {4, 8});
};

// log(a^2 + b^2) of two products, as spectrograms are computed, and a product before them.
TEST_F(PrecisionTest, OfAPowerSpectrumIsKept) {
  const ir::ValueId earlier = product("earlier", x_);
  const ir::ValueId real = product("real", earlier), imaginary = product("imaginary", earlier);
  const ir::ValueId power = binary(PwOp::kAdd, "power", binary(PwOp::kMul, "real2", real, real),
                                   binary(PwOp::kMul, "imaginary2", imaginary, imaginary));
  const ir::ValueId level = unary(PwOp::kLog, "level", reshape("flat", power, {32}));
  output(product("later", reshape("back", level, {4, 8})));
  EXPECT_THAT(kept(), ::testing::ElementsAre("imaginary", "real"));
}

TEST_F(PrecisionTest, BeforeASoftmaxIsNot) {
  const ir::ValueId probabilities = add(OpKind::kSoftmax, "softmax", {product("scores", x_)}, SoftmaxParams{1});
  output(unary(PwOp::kLog, "log", probabilities));
  EXPECT_THAT(kept(), ::testing::IsEmpty());
}

// fuse_epilogues has made the logarithm part of the product.
TEST_F(PrecisionTest, OfAnEpilogueWithALogarithmIsKept) {
  output(unary(PwOp::kLog, "log", product("product", x_)));
  ASSERT_TRUE(fuse_epilogues(graph));
  remove_dead_code(graph);
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(kept().size(), 1u);
}

}  // namespace
}  // namespace planwright::builder
