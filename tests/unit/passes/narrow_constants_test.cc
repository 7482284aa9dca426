#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::bytes_of;
using planwright::testing::GraphBuilder;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Enough to be worth it.
constexpr int64_t kRows = 130, kColumns = 128;

class NarrowConstantsTest : public ::testing::Test, public GraphBuilder {
 protected:
  // A matrix of integers in [least, most], each times a scale, as fp32 rounds it: of its row and of `columns` of its
  // columns, or of its column and of `rows` of its rows.
  std::vector<float> matrix(int least, int most, int64_t rows, int64_t columns) {
    std::mt19937 random(5);
    std::uniform_int_distribution<int> integer(least, most);
    std::map<std::pair<int64_t, int64_t>, float> scales;
    std::vector<float> elements;
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        float& scale = scales[{r / rows, c / columns}];
        if (scale == 0) scale = std::uniform_real_distribution<float>(1e-3f, 1e-1f)(random);
        elements.push_back(static_cast<float>(integer(random)) * scale);
      }
    }
    return elements;
  }
  std::vector<float> with_column_scales(int most = 127) { return matrix(-most, most, kRows, 1); }
  std::vector<float> with_row_scales() { return matrix(-127, 127, 1, kColumns); }
  std::string after_product(const std::vector<float>& elements) {
    const ValueId x = input("x", {2, kRows});
    output(matmul("y", x, constant("w", {kRows, kColumns}, elements)));
    std::vector<float> rows(2 * static_cast<size_t>(kRows));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i)) * 0.1f;
    return after_pass(narrow_constants, graph, {{DType::kF32, {2, kRows}, bytes_of(rows)}});
  }
  std::string after_look_up(const std::vector<float>& elements) {
    const ValueId index = input("index", {3}, DType::kI64);
    output(add(OpKind::kGather, "y", {constant("table", {kRows, kColumns}, elements), index}, GatherParams{0}));
    return after_pass(narrow_constants, graph, {{DType::kI64, {3}, bytes_of<int64_t>({7, -1, 0})}});
  }
};

TEST_F(NarrowConstantsTest, WeightsWithAScaleOfEachColumn) {
  EXPECT_THAT(after_product(with_column_scales()),
              HasSubstr("%y: fp32[2, 128] = BlockMatMul(%x, %w/integers, %w/scales) {block=130}"));
  EXPECT_EQ(graph.value(graph.node(graph.order()[0]).inputs[1]).dtype, DType::kI8);
}

// A quantiser may leave the largest integers unused, and a pruned column has none.
TEST_F(NarrowConstantsTest, WeightsOfFewIntegersAreOfFourBits) {
  std::vector<float> elements = with_column_scales(5);
  for (size_t r = 0; r < static_cast<size_t>(kRows); ++r) elements[r * static_cast<size_t>(kColumns) + 3] = 0;
  EXPECT_THAT(after_product(elements), HasSubstr("{block=130}"));
  EXPECT_EQ(graph.value(graph.node(graph.order()[0]).inputs[1]).dtype, DType::kI4);
}

// The last block has two rows; four bits reach one further below.
TEST_F(NarrowConstantsTest, WeightsWithAScaleOfEachBlock) {
  EXPECT_THAT(after_product(matrix(-8, 7, 32, 1)), HasSubstr("{block=32}"));
  EXPECT_EQ(graph.value(graph.node(graph.order()[0]).inputs[1]).dtype, DType::kI4);
  EXPECT_EQ(graph.value(graph.node(graph.order()[0]).inputs[2]).dims, ir::Shape({5, 128}));
}

TEST_F(NarrowConstantsTest, WeightsOfEightBitsInBlocks) {
  EXPECT_THAT(after_product(matrix(-127, 127, 64, 1)), HasSubstr("{block=64}"));
}

// Quantisers may use the one integer that has no negative.
TEST_F(NarrowConstantsTest, WeightsThatReachTheLeastIntegerOfEightBits) {
  EXPECT_THAT(after_product(matrix(-128, 127, 64, 1)), HasSubstr("{block=64}"));
}

TEST_F(NarrowConstantsTest, ATableThatReachesTheLeastIntegerOfEightBits) {
  EXPECT_THAT(after_look_up(matrix(-128, 127, 1, kColumns)), HasSubstr("%y/integers: int8[3, 128]"));
}

TEST_F(NarrowConstantsTest, OneOtherNumberKeepsAllAsTheyAre) {
  std::vector<float> elements = with_column_scales();
  elements[elements.size() / 2] *= 1.0001f;
  EXPECT_EQ(after_product(elements), "unchanged");
}

TEST_F(NarrowConstantsTest, NumbersThatAreNoneStay) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e-44f}) {
    graph = ir::Graph();
    std::vector<float> elements = with_column_scales();
    for (size_t r = 0; r < static_cast<size_t>(kRows); ++r) elements[r * static_cast<size_t>(kColumns)] = 0;
    elements[0] = odd;
    const ValueId x = input("x", {2, kRows});
    output(matmul("y", x, constant("w", {kRows, kColumns}, elements)));
    EXPECT_FALSE(narrow_constants(graph)) << odd;
  }
}

TEST_F(NarrowConstantsTest, WeightsWithAScaleOfEachRowStay) {
  EXPECT_EQ(after_product(with_row_scales()), "unchanged");
}

TEST_F(NarrowConstantsTest, ATableWithAScaleOfEachRow) {
  EXPECT_THAT(after_look_up(with_row_scales()),
              AllOf(HasSubstr("%y/integers: int8[3, 128] = Gather(%table/integers, %index) {axis=0}"),
                    HasSubstr("%y/scales: fp32[3, 1] = Gather(%table/scales, %index) {axis=0}"),
                    HasSubstr("%y: fp32[3, 128] = Pointwise(%y/integers, %y/scales)")));
}

TEST_F(NarrowConstantsTest, ATableWithAScaleOfEachColumnStays) {
  EXPECT_EQ(after_look_up(with_column_scales()), "unchanged");
}

// Another reader would need the floats beside the integers.
TEST_F(NarrowConstantsTest, WhatIsReadOtherwiseTooStays) {
  const ValueId x = input("x", {2, kRows});
  const ValueId w = constant("w", {kRows, kColumns}, with_column_scales());
  output(matmul("y", x, w));
  output(relu("z", w));
  EXPECT_FALSE(narrow_constants(graph));
}

TEST_F(NarrowConstantsTest, SmallOnesStay) {
  const ValueId x = input("x", {2, 16});
  output(matmul("y", x, constant("w", {16, 16}, std::vector<float>(256, 0.5f))));
  EXPECT_FALSE(narrow_constants(graph));
}

}  // namespace
}  // namespace planwright::builder
