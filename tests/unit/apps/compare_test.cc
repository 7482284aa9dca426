#include "apps/common/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace planwright::apps {
namespace {

template <typename T>
ir::Tensor tensor(DType dtype, const std::vector<T>& elements) {
  ir::Tensor made{dtype, {static_cast<int64_t>(elements.size())}, ir::Bytes(elements.size() * sizeof(T))};
  std::memcpy(made.data.data(), elements.data(), made.data.size());
  return made;
}

TEST(Compare, AcceptsWithinTolerance) {
  const ir::Tensor want = tensor<float>(DType::kF32, {1, 100});
  EXPECT_EQ(compare(tensor<float>(DType::kF32, {1.0005f, 100.05f}), want, 1e-3, 0), "");
}

TEST(Compare, NamesTheFirstDifference) {
  const std::string text = compare(tensor<float>(DType::kF32, {1, 2}), tensor<float>(DType::kF32, {1, 3}), 1e-3, 0);
  EXPECT_NE(text.find("1 of 2 elements differ, the first at 1: 2, wanted 3"), std::string::npos) << text;
}

TEST(Compare, NotANumberMatchesOnlyItself) {
  const float nan = std::nanf("");
  EXPECT_EQ(compare(tensor<float>(DType::kF32, {nan}), tensor<float>(DType::kF32, {nan}), 0, 0), "");
  EXPECT_NE(compare(tensor<float>(DType::kF32, {nan}), tensor<float>(DType::kF32, {0}), 1, 1), "");
  EXPECT_NE(compare(tensor<float>(DType::kF32, {0}), tensor<float>(DType::kF32, {nan}), 1, 1), "");
}

TEST(Compare, InfinityMatchesOnlyItsOwnSign) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare(tensor<float>(DType::kF32, {inf}), tensor<float>(DType::kF32, {inf}), 0, 0), "");
  EXPECT_NE(compare(tensor<float>(DType::kF32, {inf}), tensor<float>(DType::kF32, {-inf}), 1, 1), "");
  EXPECT_NE(compare(tensor<float>(DType::kF32, {5}), tensor<float>(DType::kF32, {inf}), 1, 1), "");
}

TEST(Compare, LargeIntegersAreExact) {
  const int64_t big = int64_t{1} << 62;
  EXPECT_NE(compare(tensor<int64_t>(DType::kI64, {big}), tensor<int64_t>(DType::kI64, {big + 1}), 0, 0), "");
}

TEST(Compare, HalfPrecisionIsReadExactly) {
  EXPECT_EQ(compare(tensor<uint16_t>(DType::kF16, {0x3C00, 0x0001, 0xFC00}),
                    tensor<uint16_t>(DType::kF16, {0x3C00, 0x0001, 0xFC00}), 0, 0),
            "");
  EXPECT_NE(compare(tensor<uint16_t>(DType::kF16, {0x3C00}), tensor<uint16_t>(DType::kF16, {0x3C01}), 0, 0), "");
  EXPECT_NE(compare(tensor<uint16_t>(DType::kBF16, {0x3F80}), tensor<uint16_t>(DType::kBF16, {0x3F81}), 0, 0), "");
}

TEST(Compare, TypesAndDimsMustBeEqual) {
  EXPECT_NE(compare(tensor<int32_t>(DType::kI32, {1}), tensor<float>(DType::kF32, {1}), 1, 1), "");
  EXPECT_NE(compare(tensor<float>(DType::kF32, {1, 1}), tensor<float>(DType::kF32, {1}), 1, 1), "");
}

TEST(Distance, OfEqualTensorsIsNothing) {
  const Distance same = distance(tensor<float>(DType::kF32, {1, -2}), tensor<float>(DType::kF32, {1, -2}));
  EXPECT_DOUBLE_EQ(same.cosine, 1);
  EXPECT_EQ(same.l2, 0);
  EXPECT_EQ(same.l_inf, 0);
}

TEST(Distance, OfNaNIsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Distance apart = distance(tensor<float>(DType::kF32, {1, nan}), tensor<float>(DType::kF32, {1, nan}));
  EXPECT_TRUE(std::isnan(apart.cosine));
  EXPECT_TRUE(std::isnan(apart.l2));
}

TEST(Distance, MeasuresAngleSizeAndWorst) {
  const Distance far = distance(tensor<float>(DType::kF32, {0, 5}), tensor<float>(DType::kF32, {5, 0}));
  EXPECT_EQ(far.cosine, 0);
  EXPECT_DOUBLE_EQ(far.l2, std::sqrt(2.0));
  EXPECT_EQ(far.l_inf, 5);
}

}  // namespace
}  // namespace planwright::apps
