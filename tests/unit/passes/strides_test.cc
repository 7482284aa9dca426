#include "builder/passes/strides.h"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Layout;
using ir::Shape;
using planwright::testing::GraphBuilder;

std::string strides_text(const Shape& dims, const Layout& layout, const Shape& new_dims) {
  const std::optional<Shape> strides = reshape_strides(dims, dense_strides(dims, layout), new_dims);
  return strides ? to_string(*strides) : "none";
}

std::string order_text(const Layout& layout, const Shape& dims, const Shape& new_dims) {
  const std::optional<Layout> result = reshaped(layout, dims, new_dims);
  if (!result) return "none";
  std::string text;
  for (const uint8_t axis : order_of(*result, static_cast<int>(new_dims.size()))) text += std::to_string(axis);
  return text;
}

TEST(ReshapeStrides, RowMajorAlwaysHasThem) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 9), w = b.symbol("w", 1, 9);
  EXPECT_EQ(strides_text({2, h, w}, {}, {h * w, 2}), "[2, 1]");
  // That h*w and 4*floor(h*w/4) are equal is a guard's to see; dense stays dense.
  EXPECT_EQ(strides_text({h, w}, {}, {floor_div(h * w, 4), 4}), "[4, 1]");
}

TEST(ReshapeStrides, ChannelsLastMergesAndSplitsItsPixels) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 9), h = b.symbol("h", 1, 9), w = b.symbol("w", 1, 9);
  EXPECT_EQ(strides_text({n, 8, h, w}, channels_last(4), {n, 8, h * w}), "[8*h*w, 1, 8]");
  EXPECT_EQ(strides_text({n, 8, h * w}, channels_last(3), {n, 8, h, w}), "[8*h*w, 1, 8*w, 8]");
  EXPECT_EQ(strides_text({n, 8, h, w}, channels_last(4), {n, 2, 4, h * w}), "[8*h*w, 4, 1, 8]");
  EXPECT_EQ(order_text(channels_last(4), {n, 8, h, w}, {n, 8, h * w}), "021");
  EXPECT_EQ(order_text(channels_last(3), {n, 8, h * w}, {n, 8, h, w}), "0231");
  EXPECT_EQ(order_text(channels_last(4), {n, 8, h, w}, {n, 2, 4, h * w}), "0312");
}

TEST(ReshapeStrides, ChannelsDoNotMergeWithPixelsUnlessThereIsOne) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 9), h = b.symbol("h", 1, 9);
  EXPECT_EQ(strides_text({n, 8, h, 3}, channels_last(4), {n, h * 24}), "none");
  EXPECT_EQ(order_text(channels_last(4), {n, 8, h, 3}, {n, h * 24}), "none");
  EXPECT_EQ(strides_text({n, 8, 1, 1}, channels_last(4), {n, 8}), "[8, 1]");
  EXPECT_EQ(order_text(channels_last(4), {n, 8, 1, 1}, {n, 8}), "01");
}

TEST(ReshapeStrides, AxesOfLengthOneComeAndGo) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 9), w = b.symbol("w", 1, 9);
  EXPECT_EQ(strides_text({n, 8, 1, w}, channels_last(4), {n, 8, w}), "[8*w, 1, 8]");
  EXPECT_EQ(order_text(channels_last(4), {n, 8, 1, w}, {n, 8, w}), "021");
  EXPECT_EQ(order_text(channels_last(3), {n, 8, w}, {n, 8, 1, w}), "0231");
  EXPECT_EQ(order_text(channels_last(3), {n, 8, w}, {1, n, 8, w}), "0132");
}

TEST(ReshapeStrides, BroadcastAxesMergeWithEachOtherOnly) {
  const Shape dims = {4, 5, 6};
  EXPECT_EQ(to_string(*reshape_strides(dims, {0, 0, 1}, {20, 6})), "[0, 1]");
  EXPECT_FALSE(reshape_strides(dims, {6, 0, 1}, {20, 6}));
}

TEST(ReshapeStrides, WhatIsNotProvenIsNotAView) {
  GraphBuilder b;
  const Dim h = b.symbol("h", 1, 9), w = b.symbol("w", 1, 9);
  EXPECT_EQ(strides_text({8, h, w}, layout_of_order({1, 2, 0}), {8, floor_div(h * w, 4), 4}), "[1, 32, 8]");
  EXPECT_EQ(strides_text({h, w, 8}, layout_of_order({1, 0, 2}), {floor_div(h * w, 4), 4, 8}), "none");
}

TEST(Layouts, TransposingOnlyRenamesTheAxes) {
  const int32_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};
  EXPECT_EQ(transposed(channels_last(4), to_last, 4), Layout{});
  EXPECT_EQ(transposed(Layout{}, to_first, 4), channels_last(4));
}

TEST(Layouts, AreTheSamePlacingWhereTheyDifferInAxesOfLengthOne) {
  EXPECT_TRUE(same_placing({2, 1, 5, 7}, channels_last(4), {}));
  EXPECT_TRUE(same_placing({2, 8, 1, 1}, channels_last(4), {}));
  EXPECT_FALSE(same_placing({2, 8, 1, 2}, channels_last(4), {}));
}

}  // namespace
}  // namespace planwright::builder
