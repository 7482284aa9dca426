// simplify_algebra: one test a rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;

class AlgebraTest : public ::testing::Test, public GraphBuilder {
 protected:
  // What the pass leaves when `id` is the output.
  std::string simplified(ValueId id) {
    output(id);
    return after_pass(simplify_algebra, graph, {random_tensor({3, 4, 1, 5}, 1)});
  }

  ValueId sliced(const std::string& name, ValueId x, const ir::Shape& dims, const ir::Shape& scalars) {
    ir::Node& made = node(OpKind::kSlice, name, {x}, SliceParams{}, &dims);
    made.scalars = scalars;
    return made.outputs[0];
  }

  Dim n_ = symbol("n", 1, 8);
  ValueId x_ = input("x", {n_, 4, 1, 5});
};

TEST_F(AlgebraTest, WhatKeepsItsInputGoes) {
  const ir::Shape dims{n_, 4, 1, 5};
  ValueId y = reshape("reshape", x_, dims);
  y = add(OpKind::kExpand, "expand", {y}, NoParams{}, dims);
  y = add(OpKind::kTile, "tile", {y}, NoParams{}, dims);
  y = sliced("slice", y, dims, {0, 0, 0, 0, 1, 1, 1, 1});
  y = transpose("transpose", y, {0, 1, 2, 3});
  y = add(OpKind::kConcat, "concat", {y}, ConcatParams{1});
  ir::Node& pad = node(OpKind::kPad, "pad", {y}, PadParams{}, &dims);
  pad.scalars = ir::Shape(8, 0);
  ResizeParams resize;
  resize.scale[3] = 1;
  y = add(OpKind::kResize, "resize", {pad.outputs[0]}, resize, dims);
  y = reduce("reduce", ReduceKind::kMean, y, 0b100);
  y = pointwise("cast", {y}, [](ir::SsaProgram&, const auto& in) { return in[0]; });
  EXPECT_EQ(simplified(y), "  output %x as \"cast\"\n");
}

TEST_F(AlgebraTest, ASliceThatReversesStays) {
  EXPECT_EQ(simplified(sliced("slice", x_, {n_, 4, 1, 5}, {0, 0, 0, 4, 1, 1, 1, -1})), "unchanged");
}

TEST_F(AlgebraTest, AResizeThatShiftsStays) {
  ResizeParams params;
  params.coordinates = ResizeCoordinates::kTfHalfPixelForNearest;
  EXPECT_EQ(simplified(add(OpKind::kResize, "resize", {x_}, params, {n_, 4, 1, 5})), "unchanged");
}

TEST_F(AlgebraTest, SquaresOfSingleElementsStay) {
  EXPECT_EQ(simplified(reduce("reduce", ReduceKind::kSumSquare, x_, 0b100)), "unchanged");
}

TEST_F(AlgebraTest, ReshapesJoin) {
  EXPECT_EQ(simplified(reshape("second", reshape("first", x_, {n_, 20}), {n_ * 2, 10})),
            "  %first: fp32[n, 20] = Reshape(%x)  \"first\"\n"
            "  %second: fp32[2*n, 10] = Reshape(%x)  \"second\"+\"first\"\n"
            "  output %second as \"second\"\n");
}

TEST_F(AlgebraTest, TransposesJoin) {
  EXPECT_THAT(simplified(transpose("second", transpose("first", x_, {1, 0, 3, 2}), {3, 0, 1, 2})),
              HasSubstr("%second: fp32[1, 4, n, 5] = Transpose(%x) {perm=2,1,0,3}  \"second\"+\"first\"\n"));
}

TEST_F(AlgebraTest, ATransposeOfSingleAxesIsAReshape) {
  EXPECT_EQ(simplified(transpose("y", x_, {2, 0, 1, 3})),
            "  %y: fp32[1, n, 4, 5] = Reshape(%x)  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(AlgebraTest, ProgramsBroadcastByThemselves) {
  const ValueId row = constant("row", {5}, {1, 2, 3, 4, 5});
  const ValueId expanded = add(OpKind::kExpand, "expanded", {row}, NoParams{}, {n_, 4, 1, 5});
  EXPECT_THAT(simplified(binary(PwOp::kAdd, "y", x_, expanded)),
              HasSubstr("%y: fp32[n, 4, 1, 5] = Pointwise(%x, %row) [add(in0, in1)]  \"y\"+\"expanded\"\n"));
}

TEST_F(AlgebraTest, GatherAtOneIndexIsASlice) {
  EXPECT_EQ(simplified(add(OpKind::kGather, "y", {x_, constant_int("i", {}, {-1})}, GatherParams{1})),
            "  %y/slice: fp32[n, 1, 1, 5] = Slice(%x) {[0, 3, 0, 0, 1, 1, 1, 1]}  \"y\"\n"
            "  %y: fp32[n, 1, 5] = Reshape(%y/slice)  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(AlgebraTest, GatherThatMayBeOutOfRangeStays) {
  output(add(OpKind::kGather, "y", {x_, constant_int("i", {}, {2})}, GatherParams{0}));
  EXPECT_EQ(after_pass(simplify_algebra, graph, {random_tensor({3, 4, 1, 5}, 1)}), "unchanged");
}

TEST_F(AlgebraTest, ConvolutionsPadByThemselves) {
  const ir::Shape dims{n_, 4, 4, 6};
  ir::Node& pad = node(OpKind::kPad, "pad", {x_}, PadParams{}, &dims);
  pad.scalars = {0, 0, 1, 0, 0, 0, 2, 1};
  EXPECT_THAT(simplified(conv("y", pad.outputs[0], weights("w", {2, 4, 3, 3}), 1)),
              HasSubstr("%y: fp32[n, 2, 4, 6] = Conv(%x, %w) {group=1 stride=1,1 [2, 1]}  \"y\"+\"pad\"\n"));
}

TEST_F(AlgebraTest, PaddingWithOtherNumbersStays) {
  const ir::Shape dims{n_, 4, 4, 6};
  ir::Node& pad = node(OpKind::kPad, "pad", {x_, constant("one", {}, {1})}, PadParams{}, &dims);
  pad.scalars = {0, 0, 1, 0, 0, 0, 2, 1};
  EXPECT_EQ(simplified(conv("y", pad.outputs[0], weights("w", {2, 4, 3, 3}), 1)), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
