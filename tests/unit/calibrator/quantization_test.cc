#include "calibrator/quantization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace planwright::calibrator {
namespace {

constexpr float kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::min();

Quantization asymmetric(float low, float high, float threshold = kMost) {
  return quantize_asymmetric({low, high, 2, 0}, threshold);
}

TEST(Symmetric, DividesTheThresholdBy127) {
  EXPECT_EQ(quantize_symmetric(127), (Quantization{1, 0}));
  EXPECT_EQ(quantize_symmetric(1), (Quantization{1.0f / 127, 0}));
  EXPECT_EQ(quantize_symmetric(kMost), (Quantization{kMost / 127, 0}));
}

// FAULTS B21: no scale by which nothing can be divided.
TEST(Symmetric, WhatIsTooNarrowHasScale1) {
  for (const float threshold : {0.0f, std::numeric_limits<float>::denorm_min(), kLeast}) {
    EXPECT_EQ(quantize_symmetric(threshold), (Quantization{1, 0}));
    EXPECT_EQ(asymmetric(-threshold, threshold), (Quantization{1, 0}));
  }
  EXPECT_EQ(quantize_symmetric(kLeast * 127).scale, kLeast);
}

// As DynamicQuantizeLinear: the example of its specification.
TEST(Asymmetric, ReachesFromTheLeastToTheLargestValue) {
  const Quantization made = asymmetric(-2.5f, 2);
  EXPECT_NEAR(made.scale, 0.0176470596f, 1e-9);
  EXPECT_EQ(made.zero, 142);  // 141.67
}

TEST(Asymmetric, HoldsZeroWhereAllValuesAreOnOneSide) {
  EXPECT_EQ(asymmetric(1, 255), (Quantization{1, 0}));
  EXPECT_EQ(asymmetric(-255, -3), (Quantization{1, 255}));
}

TEST(Asymmetric, IsCutByTheThreshold) {
  EXPECT_EQ(asymmetric(-1000, 255, 255).scale, 2);
  EXPECT_EQ(asymmetric(0, 1000, 255), (Quantization{1, 0}));
}

TEST(Asymmetric, AWidthPastTheLargestFloatHasAScale) {
  const Quantization made = asymmetric(-kMost, kMost);
  EXPECT_TRUE(std::isfinite(made.scale));
  EXPECT_EQ(made.zero, 128);
}

TEST(Quantization, LevelsComeWithinHalfAScaleAndZeroIsExact) {
  std::mt19937 rng(6);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 1000; ++round) {
    const float a = normal(rng) * std::ldexp(1.0f, static_cast<int>(rng() % 60) - 30), b = normal(rng) * std::abs(a);
    const Range range{std::min(a, b), std::max(a, b), 2, 0};
    const Quantization made = quantize_asymmetric(range, range.limit());
    EXPECT_GE(made.zero, 0);
    EXPECT_LE(made.zero, 255);
    for (const double value : {static_cast<double>(range.low), 0.0, static_cast<double>(range.high)}) {
      const double level = std::clamp(std::nearbyint(value / made.scale) + made.zero, 0.0, 255.0);
      EXPECT_LE(std::abs((level - made.zero) * made.scale - value), (value == 0 ? 0 : 1) * made.scale * 1.001);
    }
  }
}

}  // namespace
}  // namespace planwright::calibrator
