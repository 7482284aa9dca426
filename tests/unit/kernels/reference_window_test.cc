// Pool and Resize by hand.
#include <gtest/gtest.h>

#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_elements;
using testing::expect_runs;
using testing::f32;
using testing::KernelCase;
using testing::refuses;
using testing::TestTensor;

KernelCase pool(TestTensor x, const Dims& dims, const PoolParams& params, std::vector<int64_t> pads) {
  const DType type = x.view().dtype;
  return KernelCase::of(OpKind::kPool, {std::move(x)}, {TestTensor(type, dims)})
      .with(params)
      .with_scalars(std::move(pads));
}

TEST(ReferencePool, Maximum) {
  KernelCase c = pool(f32({1, 1, 5}, {1, 5, 2, 4, 3}), {1, 1, 3},
                      {.spatial = 1, .kernel = {3, 1, 1}, .stride = {2, 1, 1}}, {1, 1});
  expect_runs(c);
  expect_elements(c.outputs[0], {5, 5, 4});
}

TEST(ReferencePool, IndicesAreOfTheFlattenedInput) {
  PoolParams params = {.kernel = {2, 2, 1}, .stride = {2, 2, 1}};
  const TestTensor x = f32({1, 2, 2, 4}, {1, 2, 8, 3, 4, 0, 5, 6, 0, 1, 0, 0, 0, 0, 0, 7});
  KernelCase c = pool(x, {1, 2, 1, 2}, params, {0, 0, 0, 0});
  c.outputs.push_back(TestTensor(DType::kI64, {1, 2, 1, 2}));
  expect_runs(c);
  expect_elements(c.outputs[0], {4, 8, 1, 7});
  expect_elements(c.outputs[1], {4, 2, 9, 15});
  params.column_major_indices = 1;
  expect_runs(c.with(params));
  expect_elements(c.outputs[1], {1, 4, 10, 15});
}

TEST(ReferencePool, IntegersAndEqualElements) {
  KernelCase c =
      pool(TestTensor::of(DType::kI8, {1, 1, 3}, {-5, -5, -7}), {1, 1, 1}, {.spatial = 1, .kernel = {3, 1, 1}}, {0, 0});
  c.outputs.push_back(TestTensor(DType::kI64, {1, 1, 1}));
  expect_runs(c);
  expect_elements(c.outputs[0], {-5});
  expect_elements(c.outputs[1], {0});
}

TEST(ReferencePool, AverageCountsWhatItIsAsked) {
  const TestTensor x = f32({1, 1, 4}, {2, 4, 6, 8});
  PoolParams params = {.kind = PoolKind::kAverage, .spatial = 1, .kernel = {3, 1, 1}, .stride = {3, 1, 1}};
  // Windows [-1, 1] and [2, 4]: the second ends past the input, where there is one element of padding.
  KernelCase c = pool(x, {1, 1, 2}, params, {1, 1});
  expect_runs(c);
  expect_elements(c.outputs[0], {3, 7});
  params.count_include_pad = 1;
  expect_runs(c.with(params));
  expect_elements(c.outputs[0], {2, 14.0 / 3}, 1e-6);
}

TEST(ReferencePool, WhatCeilAddsIsNoPadding) {
  // Stride 2 over 4 elements with kernel 3 and ceil: the last window [2, 4] has two elements even when padding counts.
  KernelCase c =
      pool(f32({1, 1, 4}, {2, 4, 6, 8}), {1, 1, 2},
           {.kind = PoolKind::kAverage, .spatial = 1, .kernel = {3, 1, 1}, .stride = {2, 1, 1}, .count_include_pad = 1},
           {0, 0});
  expect_runs(c);
  expect_elements(c.outputs[0], {4, 7});
}

TEST(ReferencePool, LpNorm) {
  const PoolParams params = {.kind = PoolKind::kLp, .spatial = 1, .kernel = {2, 1, 1}, .stride = {2, 1, 1}, .p = 2};
  KernelCase c = pool(f32({1, 1, 4}, {3, -4, 0, 5}), {1, 1, 2}, params, {0, 0});
  expect_runs(c);
  expect_elements(c.outputs[0], {5, 5}, 1e-6);
}

TEST(ReferencePool, DilationSkips) {
  KernelCase c = pool(f32({1, 1, 5}, {1, 9, 2, 9, 3}), {1, 1, 1},
                      {.spatial = 1, .kernel = {3, 1, 1}, .dilation = {2, 1, 1}}, {0, 0});
  expect_runs(c);
  expect_elements(c.outputs[0], {3});
}

TEST(ReferencePool, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::kF32, {1, 2, 4}), bytes(DType::kI8, {1, 2, 4});
  EXPECT_FALSE(refuses(pool(x, {1, 2, 4}, {.spatial = 1}, {0, 0})));
  EXPECT_TRUE(refuses(pool(x, {1, 3, 4}, {.spatial = 1}, {0, 0})));
  EXPECT_TRUE(refuses(pool(x, {1, 2, 4}, {.spatial = 1, .kernel = {0, 1, 1}}, {0, 0})));
  EXPECT_TRUE(refuses(pool(x, {1, 2, 4}, {.spatial = 1, .stride = {0, 1, 1}}, {0, 0})));
  EXPECT_TRUE(refuses(pool(x, {1, 2, 4}, {.kind = static_cast<PoolKind>(3), .spatial = 1}, {0, 0})));
  EXPECT_TRUE(refuses(pool(bytes, {1, 2, 4}, {.kind = PoolKind::kAverage, .spatial = 1}, {0, 0})));
  EXPECT_TRUE(refuses(pool(x, {1, 2, 4}, {.spatial = 4}, {0, 0, 0, 0, 0, 0, 0, 0})));
}

KernelCase resize(TestTensor x, const Dims& dims, const ResizeParams& params) {
  const DType type = x.view().dtype;
  return KernelCase::of(OpKind::kResize, {std::move(x)}, {TestTensor(type, dims)}).with(params);
}

void expect_resized(const std::vector<double>& x, const std::vector<double>& y, const ResizeParams& params,
                    double tolerance = 1e-6) {
  const KernelCase c = resize(f32({static_cast<int64_t>(x.size())}, x), {static_cast<int64_t>(y.size())}, params);
  expect_runs(c);
  expect_elements(c.outputs[0], y, tolerance);
}

TEST(ReferenceResize, NearestRoundsAsAsked) {
  // 2 elements to 4, half_pixel: coordinates -0.25, 0.25, 0.75, 1.25. 4 to 8, asymmetric: 0, 0.5, ... 3.5.
  expect_resized({1, 2}, {1, 1, 2, 2}, {});
  ResizeParams params = {.coordinates = ResizeCoordinates::kAsymmetric, .rounding = ResizeRounding::kRoundPreferFloor};
  expect_resized({1, 2, 3}, {1, 1, 2, 2, 3, 3}, params);
  params.rounding = ResizeRounding::kRoundPreferCeil;
  expect_resized({1, 2, 3}, {1, 2, 2, 3, 3, 3}, params);
  params.rounding = ResizeRounding::kFloor;
  expect_resized({1, 2, 3}, {1, 1, 2, 2, 3, 3}, params);
  params.rounding = ResizeRounding::kCeil;
  expect_resized({1, 2, 3}, {1, 2, 2, 3, 3, 3}, params);
}

TEST(ReferenceResize, NearestKeepsAllBitsOfIntegers) {
  TestTensor x(DType::kI64, {1});
  x.view().as<int64_t>()[0] = (int64_t{1} << 60) + 1;
  const KernelCase c = resize(x, {2}, {});
  expect_runs(c);
  EXPECT_EQ(c.outputs[0].view().as<int64_t>()[1], (int64_t{1} << 60) + 1);
}

TEST(ReferenceResize, LinearCoordinates) {
  ResizeParams params = {.mode = ResizeMode::kLinear};
  expect_resized({0, 4}, {0, 1, 3, 4}, params);
  params.coordinates = ResizeCoordinates::kAsymmetric;
  expect_resized({0, 4}, {0, 2, 4, 4}, params);
  params.coordinates = ResizeCoordinates::kAlignCorners;
  expect_resized({0, 3}, {0, 1, 2, 3}, params);
  expect_resized({0, 3}, {0}, params);
  params.coordinates = ResizeCoordinates::kPytorchHalfPixel;
  expect_resized({0, 4, 8}, {0}, params);
  params.coordinates = ResizeCoordinates::kHalfPixel;
  expect_resized({0, 4, 8}, {4}, params);
}

TEST(ReferenceResize, AGivenScaleIsUsedForCoordinates) {
  // Four elements at scale 0.6 are 2.4, so two; align_corners places the second at 1 * 3 / 1.4.
  ResizeParams params = {.mode = ResizeMode::kLinear, .coordinates = ResizeCoordinates::kAlignCorners};
  params.scale[0] = 0.6;
  expect_resized({0, 7, 14, 21}, {0, 15}, params, 1e-5);
  // half_pixel_symmetric centres the whole: offset 2 * (1 - 2 / 2.4), then half_pixel.
  params.coordinates = ResizeCoordinates::kHalfPixelSymmetric;
  const double first = 2 * (1 - 2 / 2.4) + 0.5 / 0.6 - 0.5;
  expect_resized({0, 1, 2, 3}, {first, first + 1 / 0.6}, params, 1e-6);
}

TEST(ReferenceResize, CropReadsARegionAndExtrapolates) {
  ResizeParams params = {
      .mode = ResizeMode::kLinear, .coordinates = ResizeCoordinates::kTfCropAndResize, .extrapolation = -1};
  params.roi_start[0] = 0.5;
  params.roi_end[0] = 1.5;
  // Coordinates 1, 2, 3 of elements 0 to 2: the last lies outside.
  expect_resized({10, 20, 30}, {20, 30, -1}, params);
}

TEST(ReferenceResize, CubicPassesThroughElementsAndUsesA) {
  ResizeParams params = {.mode = ResizeMode::kCubic, .coordinates = ResizeCoordinates::kAsymmetric, .cubic_a = -0.5f};
  // At 1.5 with a = -0.5 the weights are -1/16, 9/16, 9/16, -1/16.
  const double between = (-0.0 + 9 * 1 + 9 * 4 - 9) / 16.0;
  const KernelCase c = resize(f32({4}, {0, 1, 4, 9}), {8}, params);
  expect_runs(c);
  const std::vector<double> got = c.outputs[0].elements();
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(got[2], 1);
  EXPECT_NEAR(got[3], between, 1e-6);
  EXPECT_EQ(got[4], 4);
}

TEST(ReferenceResize, ExcludeOutsideSharesTheWeightOfTheEdge) {
  ResizeParams params = {.mode = ResizeMode::kCubic, .cubic_a = -0.5f};
  // Coordinate -0.25 of two elements: taps -2 to 1. Constant data stays constant either way.
  params.exclude_outside = 1;
  expect_resized({3, 3}, {3, 3, 3, 3}, params);
  // Weights at distance 0.25 (element 0) and 1.25 (element 1), made to sum to 1.
  const auto inner = [](double d) { return 1.5 * d * d * d - 2.5 * d * d + 1; };
  const auto outer = [](double d) { return -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2; };
  const double w0 = inner(0.25), w1 = outer(1.25);
  const KernelCase c = resize(f32({2}, {0, 1}), {4}, params);
  expect_runs(c);
  EXPECT_NEAR(c.outputs[0].elements()[0], w1 / (w0 + w1), 1e-6);
}

TEST(ReferenceResize, AntialiasWidensTheFilter) {
  // Four to two: coordinates 0.5 and 2.5; linear taps at distances 1.5, .5, .5, 1.5 squeezed by 2: 1, 3, 3, 1 of 8.
  // The tap at -1 repeats the edge.
  expect_resized({0, 8, 16, 24}, {(1 * 0 + 3 * 0 + 3 * 8 + 1 * 16) / 8.0, (1 * 8 + 3 * 16 + 3 * 24 + 1 * 24) / 8.0},
                 {.mode = ResizeMode::kLinear, .antialias = 1});
  // Enlarging, it changes nothing.
  expect_resized({0, 4}, {0, 1, 3, 4}, {.mode = ResizeMode::kLinear, .antialias = 1});
}

TEST(ReferenceResize, AxesAreIndependent) {
  const KernelCase c = resize(f32({1, 1, 2, 2}, {0, 4, 8, 12}), {1, 1, 4, 2}, {.mode = ResizeMode::kLinear});
  expect_runs(c);
  expect_elements(c.outputs[0], {0, 4, 2, 6, 6, 10, 8, 12}, 1e-6);
}

TEST(ReferenceResize, TfHalfPixelForNearest) {
  // Opset 11: floor((x + 0.5) / scale).
  expect_resized({0, 1, 2, 3}, {1, 3},
                 {.coordinates = ResizeCoordinates::kTfHalfPixelForNearest, .rounding = ResizeRounding::kFloor});
}

TEST(ReferenceResize, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::kF32, {4});
  EXPECT_FALSE(refuses(resize(x, {2}, {})));
  EXPECT_TRUE(refuses(resize(x, {1, 2}, {})));
  EXPECT_TRUE(refuses(resize(TestTensor(DType::kF32, {0}), {2}, {})));
  EXPECT_TRUE(refuses(resize(x, {2}, {.mode = static_cast<ResizeMode>(3)})));
  ResizeParams params;
  params.scale[0] = -1;
  EXPECT_TRUE(refuses(resize(x, {2}, params)));
  params.scale[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refuses(resize(x, {2}, params)));
  params.scale[0] = 1e-9;
  params.antialias = 1;
  EXPECT_TRUE(refuses(resize(x, {2}, params)));
}

}  // namespace
}  // namespace planwright
