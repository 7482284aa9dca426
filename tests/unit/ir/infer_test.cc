#include "builder/ir/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/types/error.h"
#include "tests/support/graph_builder.h"

namespace planwright::ir {
namespace {

using ::planwright::testing::GraphBuilder;
using ::testing::HasSubstr;

class InferTest : public ::testing::Test, public GraphBuilder {
 protected:
  // The first output's dims, as text; the node's own dims stay open.
  std::string infer(OpKind kind, std::vector<ValueId> inputs, Params params, size_t outputs = 1) {
    std::vector<ValueId> ids;
    for (size_t i = 0; i < outputs; ++i) ids.push_back(graph.add_value("out", DType::kF32, {}).id);
    Node& made = graph.add_node(kind, std::move(params), std::move(inputs), std::move(ids));
    made.name = "layer";
    guards_.clear();
    std::string text;
    for (const auto& shape : infer_dims(graph, made, &guards_)) text += shape ? to_string(*shape) : "open";
    return text;
  }
  std::string failure(OpKind kind, std::vector<ValueId> inputs, Params params) {
    try {
      return "no failure: " + infer(kind, std::move(inputs), std::move(params));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalid);
      return error.what();
    }
  }

  Dim n_ = symbol("n", 1, 8), h_ = symbol("h", 4, 64);
  std::vector<Guard> guards_;
};

TEST_F(InferTest, BroadcastFollowsNumpy) {
  EXPECT_EQ(to_string(broadcast_shapes({{3, 1, 5}, {4, 1}, {}}, "add", &guards_)), "[3, 4, 5]");
  EXPECT_EQ(to_string(broadcast_shapes({{n_, 1}, {1, h_}}, "add", &guards_)), "[n, h]");
  EXPECT_TRUE(guards_.empty());
  EXPECT_THROW(broadcast_shapes({{3}, {4}}, "add", &guards_), Error);
}

TEST_F(InferTest, DimsThatMayDifferBecomeAGuard) {
  EXPECT_EQ(to_string(broadcast_shapes({{n_}, {h_}}, "add", &guards_)), "[n]");
  ASSERT_EQ(guards_.size(), 1u);
  EXPECT_EQ(guards_[0].left, n_);
  EXPECT_EQ(guards_[0].right, h_);
  EXPECT_EQ(guards_[0].layer, "add");
  // A constant says more than a symbol.
  EXPECT_EQ(to_string(broadcast_shapes({{h_}, {16}}, "add", &guards_)), "[16]");
}

TEST_F(InferTest, MatMul) {
  const ValueId a = input("a", {n_, 12, h_, 64}), b = input("b", {12, 64, 32});
  EXPECT_EQ(infer(OpKind::kMatMul, {a, b}, NoParams{}), "[n, 12, h, 32]");
  EXPECT_THAT(failure(OpKind::kMatMul, {a, weights("w", {63, 2})}, NoParams{}),
              HasSubstr("layer (MatMul): the product's inner dims"));
  EXPECT_THAT(failure(OpKind::kMatMul, {a, input("v", {64})}, NoParams{}), HasSubstr("operand 1 has shape [64]"));
}

TEST_F(InferTest, ConvChecksItsChannels) {
  const ValueId x = input("x", {n_, 8, h_, h_});
  EXPECT_EQ(infer(OpKind::kConv, {x, weights("w", {4, 8, 3, 3})}, ConvParams{}), "open");
  EXPECT_THAT(failure(OpKind::kConv, {x, weights("v", {4, 7, 3, 3})}, ConvParams{}), HasSubstr("channels"));
  EXPECT_THAT(failure(OpKind::kConv, {x, weights("u", {4, 8, 3})}, ConvParams{}), HasSubstr("4 axes"));
  ConvParams params;
  params.stride[1] = 0;
  EXPECT_THAT(failure(OpKind::kConv, {x, weights("t", {4, 8, 3, 3})}, params), HasSubstr("positive"));
  params = {};
  params.group = 0;
  EXPECT_THAT(failure(OpKind::kConv, {x, weights("s", {4, 8, 3, 3})}, params), HasSubstr("group is 0"));
  params.group = 3;
  EXPECT_THAT(failure(OpKind::kConv, {x, weights("r", {4, 8, 3, 3})}, params), HasSubstr("4 channels in 3 groups"));
}

TEST_F(InferTest, Attention) {
  const ValueId q = input("q", {n_, 12, h_, 64}), k = input("k", {n_, 4, 10, 64}), v = input("v", {n_, 4, 10, 32});
  EXPECT_EQ(infer(OpKind::kAttention, {q, k, v}, AttentionParams{}), "[n, 12, h, 32]");
  EXPECT_EQ(infer(OpKind::kAttention, {q, k, v, input("mask", {n_, 1, 1, 10})}, AttentionParams{}), "[n, 12, h, 32]");
  EXPECT_THAT(failure(OpKind::kAttention, {q, k, v, input("bad", {11})}, AttentionParams{}), HasSubstr("broadcast"));
}

TEST_F(InferTest, Reductions) {
  const ValueId x = input("x", {n_, 3, h_});
  EXPECT_EQ(infer(OpKind::kReduce, {x}, ReduceParams{ReduceKind::kMean, 0b110}), "[n, 1, 1]");
  EXPECT_EQ(infer(OpKind::kArgReduce, {x}, ArgReduceParams{2, 1, 0}), "[n, 3, 1]");
  EXPECT_EQ(infer(OpKind::kLayerNorm, {x}, LayerNormParams{1, 0, 1e-5f}, 3), "[n, 3, h][n, 1, 1][n, 1, 1]");
  EXPECT_THAT(failure(OpKind::kReduce, {x}, ReduceParams{ReduceKind::kSum, 0b1000}), HasSubstr("axis"));
  EXPECT_THAT(failure(OpKind::kSoftmax, {x}, SoftmaxParams{3, 0}), HasSubstr("axis 3 is not in rank 3"));
  EXPECT_THAT(failure(OpKind::kGroupNorm, {x}, GroupNormParams{2, 1e-5f}), HasSubstr("3 channels in 2 groups"));
}

TEST_F(InferTest, Selection) {
  const ValueId x = input("x", {n_, 3, h_}), i = input("i", {5, 2}, DType::kI64);
  EXPECT_EQ(infer(OpKind::kGather, {x, i}, GatherParams{1}), "[n, 5, 2, h]");
  EXPECT_EQ(infer(OpKind::kGatherND, {x, i}, GatherNDParams{}), "[5, h]");
  EXPECT_EQ(infer(OpKind::kGatherElements, {x, input("j", {1, 3, 2}, DType::kI64)}, GatherElementsParams{2}),
            "[1, 3, 2]");
  EXPECT_EQ(infer(OpKind::kScatterND, {x, i, input("u", {5, h_})}, ScatterNDParams{}), "[n, 3, h]");
  EXPECT_THAT(failure(OpKind::kGather, {x, i}, GatherParams{-1}), HasSubstr("axis -1"));
}

TEST_F(InferTest, Movement) {
  const ValueId x = input("x", {n_, 3, h_});
  TransposeParams params;
  params.perm[0] = 2;
  params.perm[1] = 0;
  params.perm[2] = 1;
  EXPECT_EQ(infer(OpKind::kTranspose, {x}, params), "[h, n, 3]");
  params.perm[0] = 0;
  EXPECT_THAT(failure(OpKind::kTranspose, {x}, params), HasSubstr("twice"));
  EXPECT_EQ(infer(OpKind::kConcat, {x, x, input("z", {n_, 5, h_})}, ConcatParams{1}), "[n, 11, h]");
  EXPECT_THAT(failure(OpKind::kConcat, {x, input("y", {n_, 5, 2})}, ConcatParams{1}), HasSubstr("joined at axis 1"));
  EXPECT_EQ(infer(OpKind::kConcat, {x, input("q", {n_, 5, h_ * 2 - 4})}, ConcatParams{1}), "[n, 8, h]");
  EXPECT_EQ(guards_.size(), 1u);
}

TEST_F(InferTest, Recurrent) {
  RnnParams params;
  params.hidden = 20;
  params.directions = 2;
  const ValueId gates = input("gates", {h_, n_, 160}), r = input("r", {2, 80, 20});
  EXPECT_EQ(infer(OpKind::kRnn, {gates, r}, params, 3), "[h, 2, n, 20][2, n, 20][2, n, 20]");
}

TEST_F(InferTest, ForestsAndRegions) {
  const ValueId x = input("x", {n_, 10}), roots = input("roots", {3}), nodes = input("nodes", {9, 7}),
                list = input("list", {5});
  EXPECT_EQ(infer(OpKind::kTreeEnsemble, {x, roots, nodes, list, list, list, list}, TreeEnsembleParams{{}, 2}),
            "[n, 2]");
  const ValueId image = input("image", {n_, 3, h_, 20}), grid = input("grid", {n_, h_, 7, 2});
  EXPECT_EQ(infer(OpKind::kGridSample, {image, grid}, GridSampleParams{}), "[n, 3, h, 7]");
  RoiAlignParams cells;
  cells.height = 2;
  cells.width = 3;
  const ValueId regions = input("regions", {h_, 4}), batches = input("batches", {h_}, DType::kI64);
  EXPECT_EQ(infer(OpKind::kRoiAlign, {image, regions, batches}, cells), "[h, 3, 2, 3]");
  const ValueId weights = input("weights", {8, 3, 3, 3}), offsets = input("offsets", {n_, 18, h_, 18});
  EXPECT_EQ(infer(OpKind::kDeformConv, {image, weights, offsets}, DeformConvParams{}), "[n, 8, h, 18]");
  EXPECT_EQ(infer(OpKind::kDet, {input("matrices", {n_, 4, 4})}, NoParams{}), "[n]");
  EXPECT_EQ(infer(OpKind::kPairCoupling, {input("pairs", {n_, 6})}, NoParams{}), "[n, 4]");
  EXPECT_ANY_THROW(infer(OpKind::kPairCoupling, {input("pairs", {n_, 5})}, NoParams{}));
}

TEST_F(InferTest, ProductsByIntegersInBlocks) {
  const ValueId a = input("a", {n_, h_, 70}), w = input("w", {70, 9}, DType::kI4), s = input("s", {3, 9});
  EXPECT_EQ(infer(OpKind::kBlockMatMul, {a, w, s}, BlockMatMulParams{32}), "[n, h, 9]");
  EXPECT_ANY_THROW(infer(OpKind::kBlockMatMul, {a, w, s}, BlockMatMulParams{16}));
  EXPECT_ANY_THROW(infer(OpKind::kBlockMatMul, {a, w, s}, BlockMatMulParams{0}));
  EXPECT_ANY_THROW(infer(OpKind::kBlockMatMul, {a, input("v", {60, 9}, DType::kI8), s}, BlockMatMulParams{32}));
}

TEST_F(InferTest, Types) {
  const ValueId x = input("x", {4}), i = input("i", {4}, DType::kI32);
  const ValueId y = graph.add_value("y", DType::kF32, {4}).id, z = graph.add_value("z", DType::kI64, {4}).id;
  EXPECT_EQ(infer_types(graph, graph.add_node(OpKind::kGather, GatherParams{}, {i, x}, {y}))[0], DType::kI32);
  EXPECT_EQ(infer_types(graph, graph.add_node(OpKind::kTopK, TopKParams{}, {x}, {y, z}))[1], DType::kI64);
  EXPECT_EQ(infer_types(graph, graph.add_node(OpKind::kOneHot, OneHotParams{}, {i, x}, {y}))[0], DType::kF32);
  EXPECT_EQ(infer_types(graph, graph.add_node(OpKind::kPointwise, NoParams{}, {i, x}, {y}))[0], std::nullopt);
}

TEST_F(InferTest, WindowOutput) {
  EXPECT_EQ(window_output(224, 3, 3, 7, 2, 1, false), Dim(112));
  EXPECT_EQ(window_output(5, 0, 0, 2, 2, 1, true), Dim(3));
  // The last window would start past the input and its padding at the beginning.
  EXPECT_EQ(window_output(2, 1, 1, 1, 3, 1, true), Dim(1));
  EXPECT_EQ(to_string(window_output(h_, 1, 1, 3, 2, 1, false)), "floor((h + 1)/2)");
  EXPECT_EQ(window_output(h_, 2, 2, 3, 1, 2, false), h_);
}

}  // namespace
}  // namespace planwright::ir
