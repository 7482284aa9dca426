#include "calibrator/channel_factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace planwright::calibrator {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Two channels of two values each, twice.
TEST(ChannelFactors, AreTheSquareRootOfMagnitudeOverWeight) {
  ChannelRanges ranges(2);
  ranges.add(std::vector<float>{1, -4, 8, 2, 0, 3, 16, 1}, 2);
  const std::vector<float> factors = ranges.factors(std::vector<float>{1, 1});
  EXPECT_FLOAT_EQ(factors[0], 0.5f);  // sqrt(4) against sqrt(16)
  EXPECT_FLOAT_EQ(factors[1], 1.0f);
  EXPECT_FLOAT_EQ(ranges.factors(std::vector<float>{1, 4})[0], 1.0f);
}

TEST(ChannelFactors, AChannelSummedUpAloneBearsAllOfIt) {
  ChannelRanges ranges(2);
  ranges.add(std::vector<float>{4, 16}, 1);
  EXPECT_EQ(ranges.factors(std::vector<float>{0, 0}), (std::vector<float>{0.25f, 1}));
}

TEST(ChannelFactors, StayWithinBoundsWhateverTheValues) {
  ChannelRanges ranges(3);
  ranges.add(std::vector<float>{0, std::nanf(""), 1e-20f, 1e4f, kInf, -1e4f}, 1);
  for (const float factor : ranges.factors(std::vector<float>{0, 1, 0})) {
    EXPECT_GE(factor, 1.0f / 1024);
    EXPECT_LE(factor, 1.0f);
  }
  EXPECT_TRUE(ChannelRanges(2).factors(std::vector<float>{1, 0}).empty());  // no value but 0
  ChannelRanges huge(1);
  huge.add(std::vector<float>{3e38f}, 1);
  EXPECT_TRUE(huge.factors(std::vector<float>{0}).empty());
}

TEST(ChannelFactors, RangesBoundWhatIsDivided) {
  const std::vector<float> values = {0.3f, -0.7f, 5.1f, 2.2f, 1e-3f, 2e-3f};
  ChannelRanges ranges(3);
  ranges.add(values, 2);
  Range whole;
  whole.add(values);
  const std::vector<float> factors = ranges.factors(std::vector<float>{0.1f, 0.2f, 0});
  std::vector<float> divided;
  divide_channels(values, 2, factors, &divided);
  Range of_divided;
  of_divided.add(divided);
  const Range range = ranges.divided(whole, factors);
  EXPECT_EQ(range.low, of_divided.low);
  EXPECT_EQ(range.high, of_divided.high);
  EXPECT_EQ(range.count, values.size());
}

}  // namespace
}  // namespace planwright::calibrator
