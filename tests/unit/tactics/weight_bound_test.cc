#include "tactics/weight_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright::tactics {
namespace {

using testing::ElementsAre;

// Two tactics: a fast one of `large` bytes and one as large as the weights, `slower_us` slower.
PackedLayer layer(uint64_t plain, uint64_t large, double slower_us) {
  return {{{0, large, 10}, {1, plain, 10 + slower_us}}, 0};
}

std::vector<size_t> chosen(uint64_t limit, std::vector<PackedLayer> layers) {
  bound_weights(limit, &layers);
  std::vector<size_t> list;
  for (const PackedLayer& one : layers) list.push_back(one.chosen);
  return list;
}

TEST(WeightBoundTest, AThirdMoreOrWhatEveryDeviceHas) {
  EXPECT_EQ(weight_limit(300 << 20), uint64_t{400} << 20);
  EXPECT_EQ(weight_limit(0), kWeightSlack);
  EXPECT_EQ(weight_limit(1000), 1000 + kWeightSlack);
}

TEST(WeightBoundTest, WhatFitsStays) {
  EXPECT_THAT(chosen(80, {layer(10, 40, 1), layer(10, 40, 1)}), ElementsAre(0, 0));
}

// 3 us for 30 bytes, 2 us for 10, 1 us for 30.
TEST(WeightBoundTest, TheLeastTimeForAByteGoesFirst) {
  const std::vector<PackedLayer> layers{layer(10, 40, 3), layer(10, 20, 2), layer(10, 40, 1)};
  EXPECT_THAT(chosen(99, layers), ElementsAre(0, 0, 1));
  EXPECT_THAT(chosen(69, layers), ElementsAre(1, 0, 1));
  EXPECT_THAT(chosen(39, layers), ElementsAre(1, 1, 1));
}

TEST(WeightBoundTest, OfEqualOnesTheFirst) {
  EXPECT_THAT(chosen(60, {layer(10, 40, 1), layer(10, 40, 1)}), ElementsAre(1, 0));
}

// From 40 bytes to 20 for 1 us, and to 10 for 9.
TEST(WeightBoundTest, InStepsWhereThereAreSome) {
  const PackedLayer steps = {{{0, 40, 10}, {1, 20, 11}, {2, 10, 19}}, 0};
  EXPECT_THAT(chosen(20, {steps}), ElementsAre(1));
  EXPECT_THAT(chosen(19, {steps}), ElementsAre(2));
}

TEST(WeightBoundTest, WhatIsAsSmallAsItGetsMayPassTheLimit) {
  EXPECT_THAT(chosen(5, {layer(10, 40, 1), PackedLayer{}}), ElementsAre(1, 0));
}

}  // namespace
}  // namespace planwright::tactics
