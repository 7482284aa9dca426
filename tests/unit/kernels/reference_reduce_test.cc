// Reductions, running sums and normalisations by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

KernelCase reduce(const TestTensor& x, ReduceKind kind, uint32_t axes) {
  Dims dims = x.dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if ((axes >> axis & 1) != 0) dims[axis] = 1;
  }
  return KernelCase::of(OpKind::kReduce, {x}, {TestTensor(x.view().dtype, dims)}).with(ReduceParams{kind, axes});
}

std::vector<double> reduced(const TestTensor& x, ReduceKind kind, uint32_t axes) {
  const KernelCase c = reduce(x, kind, axes);
  expect_runs(c);
  return c.outputs[0].elements();
}

TEST(ReferenceReduce, EveryKind) {
  const TestTensor x = f32({3}, {1, -2, 4});
  const auto one = [&](ReduceKind kind) { return reduced(x, kind, 1)[0]; };
  EXPECT_EQ(one(ReduceKind::kSum), 3);
  EXPECT_EQ(one(ReduceKind::kMean), 1);
  EXPECT_EQ(one(ReduceKind::kMax), 4);
  EXPECT_EQ(one(ReduceKind::kMin), -2);
  EXPECT_EQ(one(ReduceKind::kProd), -8);
  EXPECT_EQ(one(ReduceKind::kL1), 7);
  EXPECT_EQ(one(ReduceKind::kSumSquare), 21);
  EXPECT_EQ(one(ReduceKind::kL2), std::sqrt(21.0f));
  EXPECT_EQ(one(ReduceKind::kLogSum), static_cast<float>(std::log(3.0)));
  EXPECT_NEAR(one(ReduceKind::kLogSumExp), std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(4.0)), 1e-6);
}

TEST(ReferenceReduce, LogSumExpDoesNotOverflow) {
  EXPECT_NEAR(reduced(f32({2}, {1000, 1000}), ReduceKind::kLogSumExp, 1)[0], 1000 + std::log(2.0), 1e-4);
  EXPECT_EQ(reduced(f32({2}, {-kInf, -kInf}), ReduceKind::kLogSumExp, 1)[0], -kInf);
}

TEST(ReferenceReduce, AnyAxes) {
  const TestTensor x = f32({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(reduced(x, ReduceKind::kSum, 0b101), (std::vector<double>{14, 22, 30}));
  EXPECT_EQ(reduced(x, ReduceKind::kSum, 0b010), (std::vector<double>{6, 9, 24, 27}));
  EXPECT_EQ(reduced(x, ReduceKind::kSum, 0b111), (std::vector<double>{66}));
  EXPECT_EQ(reduced(x, ReduceKind::kSum, 0), x.elements());
}

TEST(ReferenceReduce, IntegersWrapAndTruncate) {
  EXPECT_EQ(reduced(TestTensor::of(DType::kI32, {2}, {0x7FFFFFFF, 1}), ReduceKind::kSum, 1)[0], -0x1p31);
  EXPECT_EQ(reduced(TestTensor::of(DType::kI32, {3}, {-5, -2, 0}), ReduceKind::kMean, 1)[0], -2);
  EXPECT_EQ(reduced(TestTensor::of(DType::kU8, {2}, {200, 100}), ReduceKind::kMax, 1)[0], 200);
  EXPECT_EQ(reduced(TestTensor::of(DType::kI64, {2}, {3, -4}), ReduceKind::kL2, 1)[0], 5);
  EXPECT_EQ(reduced(TestTensor::of(DType::kBool, {3}, {0, 1, 0}), ReduceKind::kMax, 1)[0], 1);
  EXPECT_EQ(reduced(TestTensor::of(DType::kBool, {3}, {0, 1, 0}), ReduceKind::kMin, 1)[0], 0);
}

// A sum on the way to something else is none of the type's: it must not wrap.
TEST(ReferenceReduce, MeansOfIntegersDoNotWrap) {
  const auto mean = [](DType type, const std::vector<double>& x) {
    return reduced(TestTensor::of(type, {static_cast<int64_t>(x.size())}, x), ReduceKind::kMean, 1)[0];
  };
  EXPECT_EQ(mean(DType::kU32, {4e9, 4e9, 4e9, 3e9}), 3.75e9);
  EXPECT_EQ(mean(DType::kI32, {2e9, 2e9, 1e9}), 1666666666);
  EXPECT_EQ(mean(DType::kU8, {255, 255, 254}), 254);
  EXPECT_EQ(mean(DType::kI8, {-128, -128, -126}), -127);
  EXPECT_EQ(mean(DType::kU16, {65535, 65535}), 65535);
  EXPECT_EQ(mean(DType::kU64, {0x1p63, 0x1p63, 0x1p63}), 0x1p63);
  EXPECT_EQ(mean(DType::kI64, {-0x1p62, -0x1p62, -0x1p62}), -0x1p62);
}

TEST(ReferenceReduce, RootsAndLogarithmsOfIntegersDoNotWrap) {
  const TestTensor x = TestTensor::of(DType::kU32, {2}, {3e9, 4e9});
  EXPECT_EQ(reduced(TestTensor::of(DType::kI64, {2}, {3e9, 4e9}), ReduceKind::kL2, 1)[0], 5e9);
  EXPECT_EQ(reduced(x, ReduceKind::kL2, 1)[0], 5e9 - 0x1p32);  // past the type itself
  EXPECT_EQ(reduced(TestTensor::of(DType::kU64, {2}, {0x1p63, 0x1p63}), ReduceKind::kLogSum, 1)[0], 44);
}

TEST(ReferenceReduce, NothingGivesTheNeutralElement) {
  const TestTensor x(DType::kF32, {2, 0});
  EXPECT_EQ(reduced(x, ReduceKind::kSum, 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(reduced(x, ReduceKind::kProd, 2), (std::vector<double>{1, 1}));
  EXPECT_EQ(reduced(x, ReduceKind::kMax, 2), (std::vector<double>{-kInf, -kInf}));
  EXPECT_EQ(reduced(x, ReduceKind::kMin, 2), (std::vector<double>{kInf, kInf}));
  EXPECT_EQ(reduced(TestTensor(DType::kI32, {0}), ReduceKind::kMean, 1), (std::vector<double>{0}));
}

TEST(ReferenceReduce, MaximumIsNaNWhereAnElementIs) {
  EXPECT_TRUE(std::isnan(reduced(f32({3}, {1, kNan, 2}), ReduceKind::kMax, 1)[0]));
  EXPECT_TRUE(std::isnan(reduced(f32({3}, {kNan, 1, 2}), ReduceKind::kMin, 1)[0]));
}

TEST(ReferenceReduce, RefusesWhatDoesNotFit) {
  const TestTensor x(DType::kF32, {2, 3});
  KernelCase c = reduce(x, ReduceKind::kSum, 1);
  EXPECT_TRUE(refuses(c.with(ReduceParams{ReduceKind::kSum, 2})));
  EXPECT_TRUE(refuses(c.with(ReduceParams{ReduceKind::kSum, 1u << 2 | 1})));
  EXPECT_TRUE(refuses(c.with(ReduceParams{static_cast<ReduceKind>(10), 1})));
}

std::vector<double> extremes(const TestTensor& x, const ArgReduceParams& params) {
  Dims dims = x.dims();
  dims[static_cast<size_t>(params.axis)] = 1;
  const KernelCase c = KernelCase::of(OpKind::kArgReduce, {x}, {TestTensor(DType::kI64, dims)}).with(params);
  expect_runs(c);
  return c.outputs[0].elements();
}

TEST(ReferenceArgReduce, TiesGoToTheFirstOrTheLast) {
  const TestTensor x = f32({2, 4}, {1, 3, 3, 1, 0, 0, -1, -1});
  EXPECT_EQ(extremes(x, {.axis = 1}), (std::vector<double>{1, 0}));
  EXPECT_EQ(extremes(x, {.axis = 1, .select_last = 1}), (std::vector<double>{2, 1}));
  EXPECT_EQ(extremes(x, {.axis = 1, .is_max = 0}), (std::vector<double>{0, 2}));
  EXPECT_EQ(extremes(x, {.axis = 1, .is_max = 0, .select_last = 1}), (std::vector<double>{3, 3}));
  EXPECT_EQ(extremes(x, {.axis = 0}), (std::vector<double>{0, 0, 0, 0}));
}

TEST(ReferenceArgReduce, NaNIsTheMostExtreme) {
  const TestTensor x = f32({2, 4}, {1, kNan, 5, kNan, kNan, -1, 2, 3});
  EXPECT_EQ(extremes(x, {.axis = 1}), (std::vector<double>{1, 0}));
  EXPECT_EQ(extremes(x, {.axis = 1, .select_last = 1}), (std::vector<double>{3, 0}));
  EXPECT_EQ(extremes(x, {.axis = 1, .is_max = 0}), (std::vector<double>{1, 0}));
}

TEST(ReferenceArgReduce, RefusesAnEmptyAxis) {
  const KernelCase c =
      KernelCase::of(OpKind::kArgReduce, {TestTensor(DType::kF32, {2, 0})}, {TestTensor(DType::kI64, {2, 1})})
          .with(ArgReduceParams{.axis = 1});
  EXPECT_TRUE(refuses(c));
}

std::vector<double> cumulated(const TestTensor& x, const CumulativeParams& params) {
  const KernelCase c = KernelCase::of(OpKind::kCumulative, {x}, {TestTensor(x.view().dtype, x.dims())}).with(params);
  expect_runs(c);
  return c.outputs[0].elements();
}

TEST(ReferenceCumulative, ExclusiveAndReverse) {
  const TestTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(cumulated(x, {.axis = 1}), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(cumulated(x, {.axis = 1, .exclusive = 1}), (std::vector<double>{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(cumulated(x, {.axis = 1, .reverse = 1}), (std::vector<double>{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(cumulated(x, {.axis = 0, .exclusive = 1, .reverse = 1}), (std::vector<double>{4, 5, 6, 0, 0, 0}));
  EXPECT_EQ(cumulated(x, {.kind = CumulativeKind::kProd, .axis = 1}), (std::vector<double>{1, 2, 6, 4, 20, 120}));
}

std::vector<double> softmax(const TestTensor& x, const SoftmaxParams& params) {
  const KernelCase c = KernelCase::of(OpKind::kSoftmax, {x}, {TestTensor(x.view().dtype, x.dims())}).with(params);
  expect_runs(c);
  return c.outputs[0].elements();
}

TEST(ReferenceSoftmax, AlongAnyAxis) {
  const double ln3 = std::log(3.0);
  const TestTensor x = f32({2, 2}, {0, ln3, ln3, 0});
  expect_elements(f32({4}, softmax(x, {.axis = 1})), {0.25, 0.75, 0.75, 0.25}, 1e-6);
  expect_elements(f32({4}, softmax(f32({2, 2}, {0, 5, ln3, 5}), {.axis = 0})), {0.25, 0.5, 0.75, 0.5}, 1e-6);
}

TEST(ReferenceSoftmax, LogAndHard) {
  const TestTensor x = f32({1, 3}, {1000, 1000, -1000});
  expect_elements(f32({3}, softmax(x, {.axis = 1, .log = 1})), {-std::log(2.0), -std::log(2.0), -2000 - std::log(2.0)},
                  1e-3);
  EXPECT_EQ(softmax(x, {.axis = 1, .log = 2}), (std::vector<double>{1, 0, 0}));
}

TEST(ReferenceLayerNorm, GivesStatisticsAndScales) {
  // Mean 2, variance 2 / 3 of (1, 2, 3).
  const double deviation = std::sqrt(2.0 / 3 + 0.5);
  KernelCase c = KernelCase::of(
      OpKind::kLayerNorm, {f32({2, 3}, {1, 2, 3, 11, 12, 13}), f32({3}, {1, 2, 10}), f32({3}, {0, 7, 100})},
      {TestTensor(DType::kF32, {2, 3}), TestTensor(DType::kF32, {2, 1}), TestTensor(DType::kF32, {2, 1})});
  expect_runs(c.with(LayerNormParams{.axis = 1, .epsilon = 0.5f}));
  const double low = -1 / deviation, high = 100 + 10 / deviation;
  expect_elements(c.outputs[0], {low, 7, high, low, 7, high}, 1e-5);
  expect_elements(c.outputs[1], {2, 12});
  expect_elements(c.outputs[2], {1 / deviation, 1 / deviation}, 1e-6);
}

TEST(ReferenceLayerNorm, NormalisesOverAllAxesFromTheGiven) {
  KernelCase c =
      KernelCase::of(OpKind::kLayerNorm, {f32({1, 2, 2}, {-1, 1, -1, 1})}, {TestTensor(DType::kF32, {1, 2, 2})});
  expect_runs(c.with(LayerNormParams{.axis = 1, .epsilon = 0}));
  expect_elements(c.outputs[0], {-1, 1, -1, 1});
}

TEST(ReferenceLayerNorm, RootMeanSquareKeepsTheMean) {
  KernelCase c = KernelCase::of(OpKind::kLayerNorm, {f32({1, 2}, {3, 4})}, {TestTensor(DType::kF32, {1, 2})});
  expect_runs(c.with(LayerNormParams{.axis = 1, .rms = 1, .epsilon = 0}));
  expect_elements(c.outputs[0], {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}, 1e-6);
}

TEST(ReferenceGroupNorm, NormalisesEachGroup) {
  const TestTensor x = f32({1, 4, 2}, {0, 2, 4, 6, 1, 1, 1, 1});
  KernelCase c = KernelCase::of(OpKind::kGroupNorm, {x}, {TestTensor(DType::kF32, {1, 4, 2}, {8, 1, 4})});
  expect_runs(c.with(GroupNormParams{.groups = 2, .epsilon = 0.25f}));
  const double d = std::sqrt(5.25);
  expect_elements(c.outputs[0], {-3 / d, -1 / d, 1 / d, 3 / d, 0, 0, 0, 0}, 1e-6);
  EXPECT_TRUE(refuses(c.with(GroupNormParams{.groups = 3})));
  EXPECT_TRUE(refuses(c.with(GroupNormParams{.groups = 0})));
}

TEST(ReferenceLrn, SumsSquaresOfChannelsAround) {
  const TestTensor x = f32({1, 3, 1}, {1, 2, 3});
  KernelCase c = KernelCase::of(OpKind::kLrn, {x}, {TestTensor(DType::kF32, {1, 3, 1})});
  expect_runs(c.with(LrnParams{.size = 3, .alpha = 3, .beta = 1, .bias = 1}));
  expect_elements(c.outputs[0], {1.0 / 6, 2.0 / 15, 3.0 / 14}, 1e-6);
  // Of an even window the extra channel comes after.
  expect_runs(c.with(LrnParams{.size = 2, .alpha = 2, .beta = 1, .bias = 0}));
  expect_elements(c.outputs[0], {1.0 / 5, 2.0 / 13, 3.0 / 9}, 1e-6);
}

}  // namespace
}  // namespace planwright
