// Every code and every tie of the minifloats, against an oracle that works them out in double.
#include "schemas/types/minifloat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/minifloat_oracle.h"

namespace planwright {
namespace {

using testing::code_count;
using testing::kMinifloats;
using testing::Minifloat;

void expect_same(double actual, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << ": " << actual;
  } else {
    EXPECT_EQ(actual, expected) << what;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << what;
  }
}

TEST(Minifloat, EveryCodeHasTheValueOfItsDefinition) {
  for (const Minifloat& type : kMinifloats) {
    double greatest = 0;
    for (int code = 0; code < code_count(type); ++code) {
      const double expected = value_of_code(type, code);
      const std::string what = std::string(name_of(type.dtype)) + " code " + std::to_string(code);
      expect_same(static_cast<double>(float_of_minifloat(type.dtype, static_cast<uint8_t>(code))), expected, what);
      if (std::isfinite(expected)) greatest = std::max(greatest, expected);
    }
    EXPECT_EQ(greatest, type.greatest) << name_of(type.dtype);
    EXPECT_EQ(static_cast<double>(greatest_of_minifloat(type.dtype)), type.greatest);
  }
}

TEST(Minifloat, EveryCodeSurvivesTheRoundTrip) {
  for (const Minifloat& type : kMinifloats) {
    for (int code = 0; code < code_count(type); ++code) {
      const float value = float_of_minifloat(type.dtype, static_cast<uint8_t>(code));
      const uint8_t back = minifloat_of_float(type.dtype, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(float_of_minifloat(type.dtype, back))) << name_of(type.dtype) << ' ' << code;
      } else {
        EXPECT_EQ(back, code) << name_of(type.dtype);
      }
    }
  }
}

TEST(Minifloat, BitsPastTheWidthDoNotCount) {
  for (const Minifloat& type : kMinifloats) {
    if (bit_width(type.dtype) == 8) continue;
    for (int byte = 0; byte < 256; ++byte) {
      const int code = byte & (code_count(type) - 1);
      EXPECT_EQ(float_of_minifloat(type.dtype, static_cast<uint8_t>(byte)),
                float_of_minifloat(type.dtype, static_cast<uint8_t>(code)));
    }
  }
}

TEST(Minifloat, RoundsToNearestEven) {
  for (const Minifloat& type : kMinifloats) {
    for (const float value : points_of(type)) {
      const uint8_t code = minifloat_of_float(type.dtype, value);
      const std::string what = std::string(name_of(type.dtype)) + " of " + std::to_string(value);
      EXPECT_LT(code, code_count(type)) << what;
      expect_same(static_cast<double>(float_of_minifloat(type.dtype, code)),
                  rounded(type, static_cast<double>(value), /*saturates=*/false), what);
    }
  }
}

TEST(Minifloat, NanKeepsItsSignWhereTheTypeHasOne) {
  EXPECT_EQ(minifloat_of_float(DType::kF8E4M3FN, -NAN), 0xFF);
  EXPECT_EQ(minifloat_of_float(DType::kF8E5M2, -NAN), 0xFE);
  EXPECT_EQ(minifloat_of_float(DType::kF8E4M3FNUZ, -NAN), 0x80);
  EXPECT_EQ(minifloat_of_float(DType::kF8E5M2FNUZ, NAN), 0x80);
}

TEST(Minifloat, E8m0IsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float value = float_of_minifloat(DType::kF8E8M0, static_cast<uint8_t>(code));
    EXPECT_EQ(static_cast<double>(value), std::exp2(code - 127)) << code;
    EXPECT_EQ(minifloat_of_float(DType::kF8E8M0, value), code);
    if (code == 254) continue;
    // Halfway, in value, between two powers goes up.
    const float middle = value * 1.5f;
    EXPECT_EQ(minifloat_of_float(DType::kF8E8M0, middle), code + 1) << code;
    EXPECT_EQ(minifloat_of_float(DType::kF8E8M0, std::nextafter(middle, 0.0f)), code) << code;
  }
  EXPECT_TRUE(std::isnan(float_of_minifloat(DType::kF8E8M0, 255)));
  for (const float value : {0.0f, -0.0f, -1.0f, std::nextafter(0x1p-127f, 0.0f), std::nextafter(0x1p127f, INFINITY),
                            INFINITY, -INFINITY, NAN}) {
    EXPECT_EQ(minifloat_of_float(DType::kF8E8M0, value), 255) << value;
  }
}

TEST(SubByteInt, EveryByteIsItsLowBits) {
  for (int byte = 0; byte < 256; ++byte) {
    const int four = byte % 16, two = byte % 4;
    const auto value = [&](DType type) { return value_of_byte(type, static_cast<uint8_t>(byte)); };
    EXPECT_EQ(value(DType::kU4), static_cast<float>(four));
    EXPECT_EQ(value(DType::kI4), static_cast<float>(four < 8 ? four : four - 16));
    EXPECT_EQ(value(DType::kU2), static_cast<float>(two));
    EXPECT_EQ(value(DType::kI2), static_cast<float>(two < 2 ? two : two - 4));
  }
  EXPECT_EQ(wrap_sub_byte(DType::kI4, -9), 7);
  EXPECT_EQ(wrap_sub_byte(DType::kI4, INT64_MIN), 0);
  EXPECT_EQ(wrap_sub_byte(DType::kU2, -1), 3);
}

TEST(DTypes, WidthsAreOfTheBitsThatCount) {
  for (const DType type : {DType::kF6E2M3, DType::kF6E3M2}) EXPECT_EQ(bit_width(type), 6);
  for (const DType type : {DType::kF4E2M1, DType::kI4, DType::kU4}) EXPECT_EQ(bit_width(type), 4);
  for (const DType type : {DType::kI2, DType::kU2}) EXPECT_EQ(bit_width(type), 2);
  for (const DType type : {DType::kF8E4M3FN, DType::kF8E8M0, DType::kI8, DType::kBool}) EXPECT_EQ(bit_width(type), 8);
  EXPECT_EQ(bit_width(DType::kBF16), 16);
  EXPECT_EQ(bit_width(DType::kF64), 64);
}

}  // namespace
}  // namespace planwright
