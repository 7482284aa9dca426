// Which layers have levels, and which.
#include "calibrator/level_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibrator/quantization.h"

namespace planwright::calibrator {
namespace {

ir::QuantisableLayer layer(const std::string& name, uint64_t key, int64_t channels = 0) {
  ir::QuantisableLayer made;
  made.name = name;
  made.activation = name + "_in";
  made.key = key;
  made.channel_axis = channels == 0 ? -1 : 1;
  made.channels = channels;
  return made;
}

class LevelPolicyTest : public ::testing::Test {
 protected:
  // Values from -1 to 3, of which calibrators that decided otherwise keep less.
  TensorCalibration known(std::vector<float> factors = {}) const {
    TensorCalibration made;
    made.name = "t";
    for (const float value : {-1.0f, 3.0f}) made.range.add({&value, 1});
    made.thresholds = {{"entropy", 2.0f}, {"minmax", 3.0f}};
    made.factors = std::move(factors);
    return made;
  }
  static void expect_levels(const std::optional<ir::Levels>& levels, float scale, int32_t zero) {
    ASSERT_TRUE(levels.has_value());
    EXPECT_FLOAT_EQ(levels->scale, scale);
    EXPECT_EQ(levels->zero, zero);
  }

  CalibrationCache cache_{"", [](const std::string& text) { ADD_FAILURE() << text; }};
  const ir::QuantisableLayer conv_ = layer("conv", 7), other_ = layer("other", 8), wide_ = layer("wide", 9, 3);
};

TEST_F(LevelPolicyTest, CalibratorsDiffer) {
  ASSERT_STREQ(name_of(Calibrator::kEntropy), "entropy");
  ASSERT_STREQ(name_of(Calibrator::kMinMax), "minmax");
  cache_.put(7, known());
  expect_levels(LevelPolicy(cache_, {conv_}, Calibrator::kEntropy).levels_for(conv_), 3.0f / 255, 85);
  expect_levels(LevelPolicy(cache_, {conv_}, Calibrator::kMinMax).levels_for(conv_), 4.0f / 255, 64);
}

// What was decided for a tensor is all there is without a histogram.
TEST_F(LevelPolicyTest, ACalibratorThatDecidedNothing) {
  cache_.put(7, known());
  EXPECT_FALSE(LevelPolicy(cache_, {conv_}, Calibrator::kMse).levels_for(conv_).has_value());
}

TEST_F(LevelPolicyTest, LayersOfWhichNothingIsKnownHaveNone) {
  cache_.put(7, known());
  const LevelPolicy policy(cache_, {conv_, other_}, Calibrator::kMinMax);
  EXPECT_TRUE(policy.levels_for(conv_).has_value());
  EXPECT_FALSE(policy.levels_for(other_).has_value());
  // Nor one of which is known, but which is none of the model's.
  EXPECT_FALSE(LevelPolicy(cache_, {other_}, Calibrator::kMinMax).levels_for(conv_).has_value());
}

// It is the tensor that is calibrated, whatever its readers are called.
TEST_F(LevelPolicyTest, LayersThatReadATensorHaveTheSameLevels) {
  cache_.put(7, known());
  const ir::QuantisableLayer second = layer("second", 7);
  const LevelPolicy policy(cache_, {conv_, second}, Calibrator::kEntropy);
  expect_levels(policy.levels_for(conv_), 3.0f / 255, 85);
  expect_levels(policy.levels_for(second), 3.0f / 255, 85);
}

// A step that could not be divided by is never made (FAULTS B21).
TEST_F(LevelPolicyTest, ValuesWithoutWidthHaveAStepOfOne) {
  for (const float value : {0.0f, 1e-42f}) {
    TensorCalibration flat;
    flat.name = "flat";
    flat.range.add({&value, 1});
    flat.thresholds = {{"minmax", value}};
    cache_.put(7, flat);
    expect_levels(LevelPolicy(cache_, {conv_}, Calibrator::kMinMax).levels_for(conv_), 1, 0);
  }
}

TEST_F(LevelPolicyTest, MadeUpOnesAreForAll) {
  const LevelPolicy policy({conv_, wide_});
  for (const ir::QuantisableLayer& one : {conv_, wide_}) {
    expect_levels(policy.levels_for(one), 1.0f / 32, 128);
    EXPECT_TRUE(policy.levels_for(one)->factors.empty());
  }
  EXPECT_FALSE(policy.levels_for(other_).has_value());
}

TEST_F(LevelPolicyTest, LayersKeptInFloatsHaveNone) {
  LevelPolicy policy({conv_, other_});
  policy.keep_in_floats({"conv", "no such layer"});
  EXPECT_FALSE(policy.levels_for(conv_).has_value());
  EXPECT_TRUE(policy.levels_for(other_).has_value());
  policy.keep_in_floats({"other"});  // and not conv any more
  EXPECT_TRUE(policy.levels_for(conv_).has_value());
  EXPECT_FALSE(policy.levels_for(other_).has_value());
}

TEST_F(LevelPolicyTest, FactorsMustBeOfTheLayersChannels) {
  cache_.put(9, known({1, 0.5f, 2}));
  const LevelPolicy policy(cache_, {wide_}, Calibrator::kMinMax);
  EXPECT_EQ(policy.levels_for(wide_)->factors, (std::vector<float>{1, 0.5f, 2}));
  for (const int64_t channels : {0, 2, 4}) {
    const ir::QuantisableLayer others = layer("wide", 9, channels);
    EXPECT_FALSE(fits(*cache_.find(9), others)) << channels;
    EXPECT_FALSE(LevelPolicy(cache_, {others}, Calibrator::kMinMax).levels_for(others).has_value()) << channels;
  }
  // One scale for all channels always fits.
  EXPECT_TRUE(fits(known(), wide_));
  EXPECT_TRUE(fits(known(), conv_));
}

TEST_F(LevelPolicyTest, TensorRtsLevelsReplaceThoseOfTheTensorsItNames) {
  cache_.put(7, known());
  cache_.put(8, known());
  LevelPolicy policy(cache_, {conv_, other_, wide_}, Calibrator::kMinMax);
  TensorRtCache given;
  given.scales = {{"conv_in", 0.25f}, {"wide_in", 0.5f}, {"stranger", 1.0f}};
  policy.use(given, {conv_, other_, wide_});
  expect_levels(policy.levels_for(conv_), 0.25f, 128);
  expect_levels(policy.levels_for(other_), 4.0f / 255, 64);
  expect_levels(policy.levels_for(wide_), 0.5f, 128);
}

}  // namespace
}  // namespace planwright::calibrator
