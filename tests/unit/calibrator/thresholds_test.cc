// Thresholds against the plainest implementations of their definitions.
#include "calibrator/thresholds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace planwright::calibrator {
namespace {

constexpr int kLevels = 128;
constexpr double kInf = std::numeric_limits<double>::infinity();

using Counts = std::vector<uint64_t>;

// KL(P || Q) of a cut as thresholds.h defines them.
double divergence_of(const Counts& counts, int cut) {
  std::vector<double> p(counts.begin(), counts.begin() + cut), q(p.size(), 0), mass(kLevels, 0), filled(kLevels, 0);
  for (int bin = cut; bin < kBins; ++bin) p.back() += static_cast<double>(counts[bin]);
  for (int bin = 0; bin < cut; ++bin) {
    const auto level = static_cast<size_t>(bin * kLevels / cut);
    mass[level] += static_cast<double>(counts[bin]);
    if (p[bin] > 0) ++filled[level];
  }
  double p_sum = 0, q_sum = 0, divergence = 0;
  for (int bin = 0; bin < cut; ++bin) {
    const auto level = static_cast<size_t>(bin * kLevels / cut);
    if (p[bin] > 0) q[bin] = mass[level] / filled[level];
    p_sum += p[bin];
    q_sum += q[bin];
  }
  for (int bin = 0; bin < cut; ++bin) {
    if (p[bin] == 0) continue;
    if (q[bin] == 0) return kInf;
    divergence += p[bin] / p_sum * std::log(p[bin] / p_sum / (q[bin] / q_sum));
  }
  return divergence;
}

// The mean squared error of a cut, by 64 points in each bin.
double error_of(const Counts& counts, int cut) {
  constexpr int kPoints = 64;
  const double step = cut / 127.0;
  double sum = 0, total = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    if (counts[bin] == 0) continue;
    double error = 0;
    for (int point = 0; point < kPoints; ++point) {
      const double value = bin + (point + 0.5) / kPoints;
      const double off = value - std::min(std::round(value / step), 127.0) * step;
      error += off * off;
    }
    sum += static_cast<double>(counts[bin]) * error / kPoints;
    total += static_cast<double>(counts[bin]);
  }
  return sum / total;
}

// Normal, rectified, long-tailed, few values, many empty bins; the last bin is never empty.
Counts random_counts(std::mt19937& rng) {
  Counts counts(kBins, 0);
  const int kind = static_cast<int>(rng() % 6);
  const double width = 20 + static_cast<double>(rng() % 2000);
  for (int bin = 0; bin < kBins; ++bin) {
    double density = std::exp(-bin * bin / (2 * width * width));
    if (kind == 1) density = std::exp(-bin / width);
    if (kind == 2) density = 1.0 / (1 + bin);
    if (kind == 3) density = bin % 7 == 0 ? density : 0;
    if (kind == 4) density = rng() % 30 == 0 ? density : 0;
    if (kind == 5) density = 1;
    counts[bin] = std::poisson_distribution<uint64_t>(density * 1000 + 1e-9)(rng);
  }
  if (rng() % 2 == 0) counts[0] += rng() % 500000;
  counts[kBins - 1] += 1;
  return counts;
}

// The cut that a threshold stands for, at the middle of a bin or its edge.
int cut_of(float threshold, const Histogram& histogram) {
  return static_cast<int>(threshold / histogram.limit() * kBins);
}

TEST(EntropyThreshold, IsTheCutOfLeastDivergence) {
  std::mt19937 rng(3);
  for (int round = 0; round < 60; ++round) {
    const Histogram histogram(6.5f, random_counts(rng));
    const float threshold = entropy_threshold(histogram);
    double least = kInf;
    for (int cut = kLevels; cut < kBins; ++cut) least = std::min(least, divergence_of(histogram.counts(), cut));
    if (threshold == histogram.limit()) {
      EXPECT_EQ(least, kInf);
      continue;
    }
    const int cut = cut_of(threshold, histogram);
    EXPECT_EQ(threshold, histogram.edge(cut + 0.5));
    EXPECT_LE(divergence_of(histogram.counts(), cut), least + 1e-10) << round;
  }
}

TEST(EntropyThreshold, ClipsALongTailAndKeepsAnEvenSpread) {
  Counts tail(kBins, 0), even(kBins, 1000);
  for (int bin = 0; bin < kBins; ++bin) tail[bin] = static_cast<uint64_t>(1e6 * std::exp(-bin * bin / 3200.0)) + 1;
  EXPECT_LT(entropy_threshold(Histogram(1, tail)), 0.2f);
  EXPECT_GT(entropy_threshold(Histogram(1, even)), 0.9f);
}

// Two values far apart: every cut would merge the larger one with what is empty.
TEST(EntropyThreshold, KeepsTheRangeWhereEveryCutLosesAValue) {
  Counts two(kBins, 0);
  two[0] = 1000;
  two[kBins - 1] = 10;
  EXPECT_EQ(entropy_threshold(Histogram(3, two)), 3);
}

// Of Migacz's slides: [1, 0, 2, 3, 5, 3, 1, 7] in two levels is [2, 0, 2, 2, 4, 4, 4, 4], here repeated to 128 levels
// with outliers, so that only the rule for empty bins decides.
TEST(EntropyThreshold, SpreadsALevelOverItsBinsThatAreNotEmpty) {
  Counts counts(kBins, 0);
  const uint64_t slide[] = {1, 0, 2, 3};
  for (int bin = 0; bin < 512; ++bin) counts[bin] = slide[bin % 4] * 100;
  counts[kBins - 1] = 1;
  const double all = 128 * 600 + 1, last = 301;
  double expected = 0;
  for (int bin = 0; bin < 512; ++bin) {
    const double p = bin == 511 ? last : static_cast<double>(counts[bin]);
    if (p > 0) expected += p / all * std::log(p / all / (200 / (128.0 * 600)));
  }
  EXPECT_NEAR(divergence_of(counts, 512), expected, 1e-12);
}

TEST(MseThreshold, IsTheEdgeOfLeastError) {
  std::mt19937 rng(4);
  for (int round = 0; round < 12; ++round) {
    const Histogram histogram(0.75f, random_counts(rng));
    const float threshold = mse_threshold(histogram);
    double least = kInf;
    for (int cut = kLevels; cut <= kBins; cut += 3) least = std::min(least, error_of(histogram.counts(), cut));
    const auto cut = static_cast<int>(std::lround(threshold / histogram.limit() * kBins));
    EXPECT_EQ(threshold, histogram.edge(cut));
    EXPECT_LE(error_of(histogram.counts(), cut), least * 1.001) << round;  // of 64 points, not all
  }
}

TEST(MseThreshold, KeepsAnEvenSpread) { EXPECT_GT(mse_threshold(Histogram(1, Counts(kBins, 1000))), 0.97f); }

TEST(PercentileThreshold, EndsTheBinThatReachesIt) {
  Counts counts(kBins, 0);
  counts[9] = 9999;
  counts[kBins - 1] = 1;
  const Histogram histogram(kBins, counts);
  EXPECT_EQ(percentile_threshold(histogram, 99.99), 10);
  EXPECT_EQ(percentile_threshold(histogram, 99.995), kBins);
  EXPECT_EQ(percentile_threshold(histogram, 100), kBins);
  EXPECT_EQ(percentile_threshold(histogram, 0), 10);
}

TEST(Thresholds, AreDefinedOfZerosAndOfNothing) {
  Counts zeros(kBins, 0);
  zeros[0] = 100;
  for (const Calibrator calibrator : kCalibrators) {
    EXPECT_EQ(threshold_of(calibrator, Histogram(0, zeros)), 0) << name_of(calibrator);
    EXPECT_EQ(threshold_of(calibrator, Histogram(0)), 0) << name_of(calibrator);
  }
}

TEST(Thresholds, OfOneValueKeepIt) {
  Counts one(kBins, 0);
  one[kBins - 1] = 100;
  for (const Calibrator calibrator : kCalibrators) {
    EXPECT_GT(threshold_of(calibrator, Histogram(5, one)), 4.9f) << name_of(calibrator);
  }
}

TEST(Thresholds, OfTheLargestFloatsAreFinite) {
  std::mt19937 rng(5);
  const float most = std::numeric_limits<float>::max();
  for (const Calibrator calibrator : kCalibrators) {
    const float threshold = threshold_of(calibrator, Histogram(most, random_counts(rng)));
    EXPECT_TRUE(threshold > 0 && threshold <= most) << name_of(calibrator);
  }
}

TEST(Calibrators, HaveNames) {
  for (const Calibrator calibrator : kCalibrators) EXPECT_EQ(parse_calibrator(name_of(calibrator)), calibrator);
  EXPECT_FALSE(parse_calibrator("auto"));
}

}  // namespace
}  // namespace planwright::calibrator
