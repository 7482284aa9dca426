#include "apps/common/input_shapes.h"

#include <gtest/gtest.h>

namespace planwright::apps {
namespace {

ProfileRanges profile(pw::Dims min, pw::Dims max) { return {{"x", {min, min, max}}, {"mask", {{1}, {1}, {4}}}}; }

const std::vector<ProfileRanges> kProfiles{profile({1, 8}, {8, 256}), profile({1, 8}, {1, 64}),
                                           profile({4, 8}, {4, 64}), profile({1, 8}, {1, 64})};

TEST(TightestProfile, HasTheFewestElementsOfThoseThatHoldTheShapes) {
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {1, 64}}}), 1u);
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {4, 8}}, {"mask", {2}}}), 2u);
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {3, 8}}}), 0u);
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {1, 65}}}), 0u);
}

TEST(TightestProfile, OfEqualsIsTheLowest) { EXPECT_EQ(tightest_profile(kProfiles, {}), 1u); }

TEST(TightestProfile, IsTheFirstWhereNoneHolds) {
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {9, 9}}}), 0u);
  EXPECT_EQ(tightest_profile(kProfiles, {{"x", {1}}}), 0u);
  EXPECT_EQ(tightest_profile(kProfiles, {{"mask", {5}}}), 0u);
}

}  // namespace
}  // namespace planwright::apps
