#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"
#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::GraphBuilder;

constexpr int64_t kRows = 160, kColumns = 128;

class RoundWeightsTest : public ::testing::Test, public GraphBuilder {
 protected:
  void product() {
    const ValueId x = input("x", {2, kRows});
    weights_ = weights("w", {kRows, kColumns});
    output(matmul("y", x, weights_));
  }
  std::vector<double> elements() { return float_elements(graph.value(weights_)); }
  // How many different numbers the rows [first, last) of a column hold.
  size_t levels(const std::vector<double>& elements, int64_t column, int64_t first, int64_t last) {
    std::set<double> numbers;
    for (int64_t r = first; r < last; ++r) numbers.insert(elements[static_cast<size_t>(r * kColumns + column)]);
    return numbers.size();
  }
  // Of the rounded weights, relative to the weights.
  double error(const std::vector<double>& before, const std::vector<double>& after) {
    double lost = 0, all = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      lost += (before[i] - after[i]) * (before[i] - after[i]);
      all += before[i] * before[i];
    }
    return std::sqrt(lost / all);
  }
  // What narrow_constants makes of the product's weights: their type and block.
  std::pair<DType, int64_t> narrowed() {
    EXPECT_TRUE(narrow_constants(graph));
    const ir::Node& node = graph.node(graph.order()[0]);
    return {graph.value(node.inputs[1]).dtype, node.as<BlockMatMulParams>().block};
  }

  ValueId weights_ = ir::kNone;
};

TEST_F(RoundWeightsTest, ToEightBitsWithAScaleOfEachColumn) {
  product();
  const std::vector<double> before = elements();
  EXPECT_TRUE(round_weights(graph, {8, 0}));
  EXPECT_LT(error(before, elements()), 0.005);
  EXPECT_EQ(narrowed(), std::pair(DType::kI8, kRows));
}

TEST_F(RoundWeightsTest, ToFourBitsWithAScaleOfEachBlock) {
  product();
  const std::vector<double> before = elements();
  EXPECT_TRUE(round_weights(graph, {4, 32}));
  EXPECT_LT(error(before, elements()), 0.08);
  for (int64_t first = 0; first < kRows; first += 32) EXPECT_LE(levels(elements(), 5, first, first + 32), 16u);
  EXPECT_GT(levels(elements(), 5, 0, kRows), 16u);
  EXPECT_EQ(narrowed(), std::pair(DType::kI4, int64_t{32}));
}

TEST_F(RoundWeightsTest, ATableToEightBitsWithAScaleOfEachRow) {
  const ValueId index = input("index", {3}, DType::kI64);
  weights_ = weights("table", {kRows, kColumns});
  output(add(OpKind::kGather, "y", {weights_, index}, GatherParams{0}));
  const std::vector<double> before = elements();
  EXPECT_TRUE(round_weights(graph, {4, 32}));
  EXPECT_LT(error(before, elements()), 0.005);
  EXPECT_TRUE(narrow_constants(graph));
}

TEST_F(RoundWeightsTest, WhatIsReadOtherwiseTooStays) {
  product();
  output(relu("z", weights_));
  EXPECT_FALSE(round_weights(graph, {8, 0}));
}

TEST_F(RoundWeightsTest, SmallOnesAndInfinitiesStay) {
  const ValueId x = input("x", {2, 16});
  output(matmul("small", x, weights("s", {16, 16})));
  EXPECT_FALSE(round_weights(graph, {8, 0}));
  std::vector<float> elements(static_cast<size_t>(kRows * kColumns), 0.3f);
  for (size_t i = 0; i < elements.size(); i += static_cast<size_t>(kColumns)) elements[i] = 1.0f / 0.0f;
  weights_ = constant("w", {kRows, kColumns}, elements);
  output(matmul("y", input("v", {2, kRows}), weights_));
  EXPECT_TRUE(round_weights(graph, {8, 0}));
  EXPECT_EQ(this->elements()[0], HUGE_VAL);
  EXPECT_FALSE(narrow_constants(graph));
}

}  // namespace
}  // namespace planwright::builder
