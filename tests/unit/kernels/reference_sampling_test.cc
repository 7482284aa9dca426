// GridSample, RoiAlign, DeformConv, Det and Random by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/reference_case.h"

namespace planwright {
namespace {

using testing::Dims;
using testing::expect_output;
using testing::f32;
using testing::KernelCase;
using testing::reference_status;
using testing::refuses;
using testing::TestTensor;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A row of four pixels, 0 to 3, read at the given places.
KernelCase sample(const GridSampleParams& params, const std::vector<double>& places) {
  const auto count = static_cast<int64_t>(places.size());
  return KernelCase::of(OpKind::kGridSample, {f32({1, 1, 4}, {0, 10, 20, 30}), f32({1, count, 1}, places)},
                        {TestTensor(DType::kF32, {1, 1, count})})
      .with(params);
}

TEST(ReferenceGridSample, ReadsBetweenPixels) {
  GridSampleParams params;
  params.align_corners = 1;
  expect_output(sample(params, {-1, 1, 0, 0.5}), {0, 30, 15, 22.5});
  params.align_corners = 0;  // pixel 0 is at -0.75
  expect_output(sample(params, {-0.75, 0.75, 0, 1}), {0, 30, 15, 15});
  params.mode = GridSampleMode::kNearest;
  expect_output(sample(params, {-0.75, -0.6, 0.7}), {0, 0, 30});
  params.mode = GridSampleMode::kCubic;
  expect_output(sample(params, {-0.25, 0.25}), {10, 20});
}

TEST(ReferenceGridSample, PadsAsAsked) {
  GridSampleParams params;
  params.mode = GridSampleMode::kNearest;
  const std::vector<double> outside = {-1.25, 1.25, 9, kNan, kInfinity, -kInfinity};
  expect_output(sample(params, outside), {0, 0, 0, 0, 0, 0});
  params.padding = GridSamplePadding::kBorder;
  expect_output(sample(params, outside), {0, 30, 30, 0, 30, 0});
  params.padding = GridSamplePadding::kReflection;  // mirrored at -1 and 1
  expect_output(sample(params, {-1.25, 1.25, 1.75}), {0, 30, 20});
}

// A place half a pixel outside stays there: 30 + 0.09375 * (30 - 20).
TEST(ReferenceGridSample, TheBorderPadsPixelsNotPlaces) {
  GridSampleParams params;
  params.mode = GridSampleMode::kCubic;
  params.padding = GridSamplePadding::kBorder;
  expect_output(sample(params, {1, 9}), {30.9375, 30});
}

TEST(ReferenceGridSample, TakesTheLastAxisFirst) {
  GridSampleParams params;
  params.align_corners = 1;
  expect_output(
      KernelCase::of(OpKind::kGridSample, {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 2, 2}, {1, -1, -1, 1})},
                     {TestTensor(DType::kF32, {1, 1, 1, 2})})
          .with(params),
      {2, 3});
}

TEST(ReferenceGridSample, RefusesGridsThatDoNotFit) {
  const auto with = [](const Dims& x, const Dims& grid, const Dims& y) {
    return KernelCase::of(OpKind::kGridSample, {TestTensor(DType::kF32, x), TestTensor(DType::kF32, grid)},
                          {TestTensor(DType::kF32, y)})
        .with(GridSampleParams{});
  };
  EXPECT_FALSE(refuses(with({1, 2, 3, 3}, {1, 4, 5, 2}, {1, 2, 4, 5})));
  EXPECT_TRUE(refuses(with({1, 2, 3, 3}, {1, 4, 5, 3}, {1, 2, 4, 5})));
  EXPECT_TRUE(refuses(with({1, 2, 3, 3}, {2, 4, 5, 2}, {1, 2, 4, 5})));
  EXPECT_TRUE(refuses(with({1, 2, 0, 3}, {1, 4, 5, 2}, {1, 2, 4, 5})));
  EXPECT_TRUE(refuses(with({1, 2, 3, 3}, {1, 4, 5, 2}, {1, 2, 4, 4})));
}

KernelCase align(const RoiAlignParams& params, const std::vector<double>& region, double batch = 0) {
  return KernelCase::of(OpKind::kRoiAlign,
                        {f32({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}), f32({1, 4}, region),
                         TestTensor::of(DType::kI64, {1}, {batch})},
                        {TestTensor(DType::kF32, {1, 1, params.height, params.width})})
      .with(params);
}

TEST(ReferenceRoiAlign, AveragesItsCells) {
  RoiAlignParams params;
  params.width = 2;
  expect_output(align(params, {0, 0, 4, 2}), {2.5, 4.5});
  params.half_pixel = 0;
  params.sampling_ratio = 1;
  expect_output(align(params, {0, 0, 2, 1}), {2.5, 3.5});
  params.mode = RoiAlignMode::kMax;  // the largest share of a pixel
  expect_output(align(params, {0, 0, 2, 1}), {1.25, 1.5});
  EXPECT_EQ(reference_status(align(params, {0, 0, 2, 1}, 1)).code(), StatusCode::kPrecondition);
  params.sampling_ratio = kMaxSamplingRatio + 1;
  EXPECT_TRUE(refuses(align(params, {0, 0, 2, 1})));
}

// A region may be as large as a float: what lies outside the image is counted, not visited.
TEST(ReferenceRoiAlign, DoesNotTakeForeverOverAHugeRegion) {
  expect_output(align(RoiAlignParams{}, {-1e30, -1e30, 1e30, 1e30}), {0});
  expect_output(align(RoiAlignParams{}, {kNan, 0, 1, kInfinity}), {0});
  ASSERT_TRUE(reference_status(align(RoiAlignParams{}, {-1e9, 0, 1e9, 2})).ok());
}

TEST(ReferenceDeformConv, MovesItsWindow) {
  DeformConvParams params;
  const auto convolve = [&](const std::vector<double>& offsets, const std::vector<double>& mask) {
    return KernelCase::of(OpKind::kDeformConv,
                          {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 1, 1, 1}, {10}), f32({1, 2, 2, 2}, offsets),
                           f32({1, 1, 2, 2}, mask)},
                          {TestTensor(DType::kF32, {1, 1, 2, 2})})
        .with(params)
        .with_scalars({0, 0});
  };
  const std::vector<double> none(8, 0), all(4, 1);
  expect_output(convolve(none, all), {10, 20, 30, 40});
  expect_output(convolve({0.5, 1, -1, 0, 0, -1, 0, kNan}, {1, 1, 1, 1}), {20, 30, 10, 0});
  expect_output(convolve(none, {0, 0.5, 1, 2}), {0, 10, 30, 80});
  params.offset_group = 2;
  EXPECT_TRUE(refuses(convolve(none, all)));
}

TEST(ReferenceDet, OfSquareMatrices) {
  const auto det = [](const Dims& dims, const std::vector<double>& elements) {
    const Dims batch(dims.begin(), dims.end() - 2);
    return KernelCase::of(OpKind::kDet, {f32(dims, elements)}, {TestTensor(DType::kF32, batch)});
  };
  expect_output(det({2, 2}, {1, 2, 3, 4}), {-2});
  expect_output(det({2, 2, 2}, {0, 1, 1, 0, 2, 4, 1, 2}), {-1, 0});
  expect_output(det({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 2}), {6});
  expect_output(det({0, 0}, {}), {1});
  EXPECT_TRUE(refuses(det({2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(ReferenceRandom, HasItsMomentsAndItsSeed) {
  constexpr int64_t kCount = 20000;
  const auto numbers = [](RandomKind kind, uint64_t seed, double shift, double scale) {
    KernelCase c = KernelCase::of(OpKind::kRandom, {}, {TestTensor(DType::kF64, {kCount})})
                       .with(RandomParams{kind, 0, seed, shift, scale});
    EXPECT_TRUE(reference_status(c).ok()) << last_error();
    return c.outputs[0].elements();
  };
  const auto moments = [](const std::vector<double>& list) {
    double sum = 0, squares = 0;
    for (const double x : list) sum += x, squares += x * x;
    const double mean = sum / kCount;
    return std::pair(mean, std::sqrt(squares / kCount - mean * mean));
  };
  const std::vector<double> uniform = numbers(RandomKind::kUniform, 1, 2, 4);
  for (const double x : uniform) ASSERT_TRUE(x >= 2 && x < 6);
  EXPECT_NEAR(moments(uniform).first, 4, 0.05);
  EXPECT_NEAR(moments(uniform).second, 4 / std::sqrt(12), 0.03);
  const auto [mean, deviation] = moments(numbers(RandomKind::kNormal, 1, -1, 3));
  EXPECT_NEAR(mean, -1, 0.1);
  EXPECT_NEAR(deviation, 3, 0.1);
  EXPECT_EQ(numbers(RandomKind::kUniform, 1, 2, 4), uniform);
  EXPECT_NE(numbers(RandomKind::kUniform, 2, 2, 4), uniform);
}

}  // namespace
}  // namespace planwright
