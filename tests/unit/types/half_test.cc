#include "schemas/types/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace planwright {
namespace {

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_of_f16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_of_f16(f16_of_float(value)))) << bits;
    } else {
      EXPECT_EQ(f16_of_float(value), bits);
    }
  }
}

TEST(Half, EveryBf16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_of_bf16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(value)))) << bits;
    } else {
      EXPECT_EQ(bf16_of_float(value), bits);
    }
  }
}

// Between each two neighbours: below the middle goes down, above goes up, the middle itself to the even one.
TEST(Half, F16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits + 1 < 0x7C00; ++bits) {
    const float low = float_of_f16(static_cast<uint16_t>(bits)), high = float_of_f16(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(f16_of_float(middle), bits + (bits & 1)) << bits;
    EXPECT_EQ(f16_of_float(std::nextafter(middle, low)), bits);
    EXPECT_EQ(f16_of_float(std::nextafter(middle, high)), bits + 1);
  }
}

TEST(Half, OutOfRangeIsInfinity) {
  EXPECT_EQ(f16_of_float(65519.0f), 0x7BFF);
  EXPECT_EQ(f16_of_float(65520.0f), 0x7C00);
  EXPECT_EQ(f16_of_float(-1e30f), 0xFC00);
  EXPECT_EQ(bf16_of_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bf16_of_float(1.00390625f), 0x3F80);  // halfway to the next: even
  EXPECT_EQ(bf16_of_float(1.01171875f), 0x3F82);
}

}  // namespace
}  // namespace planwright
