// Ranges and histograms: what two passes over the same values find, in whatever order and pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "calibrator/histogram.h"
#include "calibrator/range.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_values(std::mt19937& rng, size_t count) {
  std::vector<float> values(count);
  std::normal_distribution<float> normal;
  const int kind = static_cast<int>(rng() % 5);
  for (float& value : values) {
    value = normal(rng);
    if (kind == 1) value = std::max(value, 0.0f);
    if (kind == 2) value = std::exp(4 * value);
    if (kind == 3) value = std::ldexp(std::round(value * 16), -4);  // ties with the bins' ends
    if (kind == 4) value *= std::numeric_limits<float>::denorm_min() * 50;
    if (rng() % 64 == 0) value = -0.0f;
  }
  return values;
}

Range range_of(std::span<const float> values) {
  Range range;
  range.add(values);
  return range;
}

TEST(Range, HoldsTheFiniteValuesOnly) {
  const std::vector<float> values{kNan, 2, -kInf, -3, kInf, 0.5f};
  const Range range = range_of(values);
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 2);
  EXPECT_EQ(range.limit(), 3);
  EXPECT_EQ(range.count, 3u);
  EXPECT_EQ(range.non_finite, 3u);
  EXPECT_THAT(find_fault("act", range).value(), HasSubstr("'act': 3 of 6 values"));
}

TEST(Range, IsDefinedOfNothingAndOfConstants) {
  EXPECT_EQ(Range().limit(), 0);
  EXPECT_THAT(find_fault("act", Range()).value(), HasSubstr("no elements"));
  const std::vector<float> bad{kNan}, zeros{0, -0.0f}, sevens{7, 7}, minus{-7};
  EXPECT_EQ(range_of(bad), (Range{0, 0, 0, 1}));
  EXPECT_FALSE(std::signbit(range_of(zeros).low));
  EXPECT_THAT(find_fault("act", range_of(zeros)).value(), HasSubstr("'act' is 0"));
  EXPECT_EQ(range_of(sevens).low, 7);
  EXPECT_EQ(range_of(minus).high, -7);
  EXPECT_FALSE(find_fault("act", range_of(sevens)));
}

TEST(Range, HoldsTheEndsOfFloat) {
  const float most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> ends{-most, most}, small{-least, least};
  EXPECT_EQ(range_of(ends), (Range{-most, most, 2, 0}));
  EXPECT_EQ(range_of(small), (Range{-least, least, 2, 0}));
}

TEST(Histogram, BinsHoldWhatNumPysDo) {
  Histogram histogram(4);
  const float width = 4.0f / kBins;
  const std::vector<float> values{0, -0.0f, width, -width, std::nextafter(width, 0.0f), 4, -4, 4 - width, kNan, -kInf};
  histogram.add(values, "act");
  EXPECT_EQ(histogram.counts()[0], 3u);
  EXPECT_EQ(histogram.counts()[1], 2u);
  EXPECT_EQ(histogram.counts()[kBins - 1], 3u);
  EXPECT_EQ(histogram.total(), 8u);
}

// Against the exact quotient, at every end of a bin and the floats beside it.
TEST(Histogram, EndsOfBinsAreExact) {
  std::mt19937 rng(1);
  std::vector<float> limits{1,
                            3,
                            1e-30f,
                            3e38f,
                            7.0f / 3,
                            std::numeric_limits<float>::denorm_min() * 5000,
                            std::numeric_limits<float>::denorm_min() * 3};
  for (int i = 0; i < 20; ++i) limits.push_back(std::ldexp(1 + static_cast<float>(rng() % 8388608) / 8388608, i - 10));
  for (const float limit : limits) {
    for (int bin = 1; bin < kBins; ++bin) {
      const auto edge = static_cast<float>(static_cast<double>(limit) * bin / kBins);
      for (const float value : {std::nextafter(edge, 0.0f), edge, std::nextafter(edge, limit)}) {
        Histogram histogram(limit);
        histogram.add({&value, 1}, "act");
        const long double exact = std::floor(static_cast<long double>(value) * kBins / limit);
        EXPECT_EQ(histogram.counts()[static_cast<size_t>(std::min<long double>(exact, kBins - 1))], 1u)
            << value << " of " << limit;
      }
    }
  }
}

TEST(Histogram, AllZerosAreInTheFirstBin) {
  Histogram histogram(0);
  const std::vector<float> zeros(5, 0.0f);
  histogram.add(zeros, "act");
  EXPECT_EQ(histogram.counts()[0], 5u);
}

TEST(Histogram, ValuesPastTheFirstPassesRangeAreRefused) {
  Histogram histogram(1);
  const std::vector<float> values{1.5f};
  try {
    histogram.add(values, "act");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("'act' reaches 1.5"));
  }
}

TEST(Statistics, OrderAndPiecesDoNotMatter) {
  std::mt19937 rng(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> values = random_values(rng, 1 + rng() % 3000);
    const Range range = range_of(values);
    EXPECT_EQ(range.low, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(range.high, *std::max_element(values.begin(), values.end()));
    Histogram histogram(range.limit());
    histogram.add(values, "act");
    EXPECT_EQ(histogram.total(), values.size());

    std::shuffle(values.begin(), values.end(), rng);
    Range other;
    Histogram pieces(range.limit()), rest(range.limit());
    for (size_t at = 0; at < values.size();) {
      const size_t count = std::min<size_t>(rng() % 700, values.size() - at);
      const std::span<const float> piece(values.data() + at, count);
      other.merge(range_of(piece));
      (rng() % 2 == 0 ? pieces : rest).add(piece, "act");
      at += count;
    }
    pieces.merge(rest);
    EXPECT_EQ(other, range);
    EXPECT_EQ(std::signbit(other.low), std::signbit(range.low));
    EXPECT_EQ(pieces, histogram);
  }
}

}  // namespace
}  // namespace planwright::calibrator
