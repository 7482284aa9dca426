// How far outputs are off, by hand.
#include "apps/buildengine/drop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace planwright::apps {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ir::Tensor row(const std::vector<float>& values) {
  ir::Tensor made{DType::kF32, {static_cast<int64_t>(values.size())}, ir::Bytes(values.size() * sizeof(float))};
  std::memcpy(made.data.data(), values.data(), made.data.size());
  return made;
}

double drop_of(const std::vector<float>& got, const std::vector<float>& want) {
  const Drop drop = drop_between({{"y", row(got)}}, {{"y", row(want)}});
  EXPECT_EQ(drop.output, "y");
  return drop.value;
}

TEST(Drop, EqualOutputsAreNotOff) {
  EXPECT_EQ(drop_of({3, 4}, {3, 4}), 0);
  EXPECT_EQ(drop_of({0, 0}, {0, 0}), 0);
  EXPECT_EQ(drop_of({7}, {7}), 0);
}

// Half the square of 0.1, and 1 - 1 / sqrt(1.01), which is less.
TEST(Drop, AnErrorAtARightAngle) { EXPECT_NEAR(drop_of({1, 0.1f}, {1, 0}), 0.005, 1e-9); }

// No angle at all, so that the error's size alone says anything.
TEST(Drop, AFactorIsSeen) { EXPECT_NEAR(drop_of({4.5f, 6}, {3, 4}), 0.125, 1e-12); }

// Of a right angle between smaller outputs the cosine says more: 1 - 0 against half of (0.01 + 1) / 1.
TEST(Drop, AnAngleIsSeen) {
  EXPECT_EQ(drop_of({0, 0.1f}, {1, 0}), 1);
  // 1 - 0.5 / sqrt(0.5) and half of 0.25 + 0.25.
  EXPECT_NEAR(drop_of({0.5f, 0.5f}, {1, 0}), 1 - std::sqrt(0.5), 1e-12);
}

TEST(Drop, OneAtMost) {
  EXPECT_EQ(drop_of({-3, -4}, {3, 4}), 1);
  EXPECT_EQ(drop_of({3e9f, 4e9f}, {3, 4}), 1);
  EXPECT_EQ(drop_of({0, 0}, {3, 4}), 1);      // nothing is there any more
  EXPECT_EQ(drop_of({0, 1e-3f}, {0, 0}), 1);  // or something where nothing was
}

// A single number points where all others do: only its size says anything.
TEST(Drop, ASingleElement) {
  EXPECT_NEAR(drop_of({1.1f}, {1}), 0.005, 1e-8);
  EXPECT_EQ(drop_of({0}, {1}), 0.5);
  EXPECT_EQ(drop_of({-1}, {1}), 1);
}

TEST(Drop, NoNumberIsAllThatCanBeLost) {
  EXPECT_EQ(drop_of({1, kNan}, {1, 2}), 1);
  EXPECT_EQ(drop_of({1, kInfinity}, {1, 2}), 1);
  EXPECT_EQ(drop_of({kNan}, {1}), 1);
}

TEST(Drop, WhatSaysNothing) {
  const ir::Tensor integers{DType::kI32, {1}, ir::Bytes(4)}, others{DType::kI32, {1}, ir::Bytes(4, std::byte{1})};
  // No numbers in fp32 either, indices, other dims, an output that is not there.
  EXPECT_EQ(drop_between({{"y", row({1, 2})}}, {{"y", row({1, kNan})}}).output, "");
  EXPECT_EQ(drop_between({{"y", row({1, 2})}}, {{"y", row({1, kInfinity})}}).output, "");
  EXPECT_EQ(drop_between({{"y", others}}, {{"y", integers}}).output, "");
  EXPECT_EQ(drop_between({{"y", row({1, 2, 3})}}, {{"y", row({1, 2})}}).output, "");
  EXPECT_EQ(drop_between({{"z", row({1, 2})}}, {{"y", row({1, 2})}}).output, "");
  EXPECT_EQ(drop_between({}, {}).value, 0);
}

TEST(Drop, IsOfTheOutputThatIsFurthestOff) {
  const Tensors want = {{"a", row({1, 0})}, {"b", row({1, 0})}, {"c", row({1, 0})}};
  const Drop drop = drop_between({{"a", row({1, 0.1f})}, {"b", row({1, 0.3f})}, {"c", row({1, 0.2f})}}, want);
  EXPECT_EQ(drop.output, "b");
  EXPECT_NEAR(drop.value, 0.045, 1e-8);
}

TEST(Drop, TheWorseOfTwo) {
  const Drop none, small{0.1, "a"}, large{0.2, "b"}, better{-0.1, "c"};
  EXPECT_EQ(worse(small, large).output, "b");
  EXPECT_EQ(worse(large, small).output, "b");
  EXPECT_EQ(worse(none, better).output, "c");  // with labels a drop may be a gain
  EXPECT_EQ(worse(better, none).output, "c");
}

}  // namespace
}  // namespace planwright::apps
