#include "apps/common/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planwright::apps {
namespace {

TEST(Summarise, OfOneValue) {
  const Summary summary = summarise({3}, {90, 99});
  EXPECT_EQ(summary.min, 3);
  EXPECT_EQ(summary.max, 3);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.coefficient_of_variation, 0);
  EXPECT_EQ(summary.percentiles[0].second, 3);
}

TEST(Summarise, MedianOfAnEvenCountIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(summarise({4, 1, 3, 2}, {}).median, 2.5);
  EXPECT_EQ(summarise({5, 1, 3}, {}).median, 3);
}

TEST(Summarise, PercentilesByExcludingTheSlowest) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  const Summary summary = summarise(values, {50, 90, 99, 100, 0});
  EXPECT_EQ(summary.percentiles[0].second, 50);
  EXPECT_EQ(summary.percentiles[3].second, 100);
  EXPECT_EQ(summary.percentiles[4].second, 1);
  // 1 - 0.9 is a hair above or below 0.1 in binary: either neighbour is by the rule.
  EXPECT_NEAR(summary.percentiles[1].second, 90, 1);
  EXPECT_NEAR(summary.percentiles[2].second, 99, 1);
}

TEST(Summarise, VariationIsRelative) {
  EXPECT_DOUBLE_EQ(summarise({1, 3}, {}).coefficient_of_variation, 0.5);
  EXPECT_DOUBLE_EQ(summarise({10, 30}, {}).coefficient_of_variation, 0.5);
}

}  // namespace
}  // namespace planwright::apps
