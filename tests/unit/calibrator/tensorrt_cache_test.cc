#include "calibrator/tensorrt_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "calibrator/level_policy.h"
#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"

namespace planwright::calibrator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string refusal_of(const std::string& text) {
  try {
    parse_tensorrt_cache("int8.cache", text);
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalid);
    return error.what();
  }
}

TEST(TensorRtCache, IsReadAsTensorRtWritesIt) {
  const TensorRtCache cache = parse_tensorrt_cache("int8.cache",
                                                   "TRT-100300-EntropyCalibration2\n"
                                                   "input: 3c010a14\r\n"
                                                   "scope/conv: relu: 3f800000\n"
                                                   "(Unnamed Layer* 3) [Conv]_output: 3D010204");
  EXPECT_EQ(cache.version, "100300");
  EXPECT_EQ(cache.algorithm, "EntropyCalibration2");
  EXPECT_THAT(cache.scales, ElementsAre(Pair("(Unnamed Layer* 3) [Conv]_output", 0x1.020408p-5f),
                                        Pair("input", 0x1.021428p-7f), Pair("scope/conv: relu", 1)));
}

TEST(TensorRtCache, OtherFilesAreNone) {
  const tests::TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder.file("f"), std::ios::binary) << text;
    return read_tensorrt_cache(folder.file("f"));
  };
  EXPECT_EQ(read_tensorrt_cache(folder.file("absent")), std::nullopt);
  EXPECT_EQ(read_tensorrt_cache(""), std::nullopt);
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("PWCALIB"), std::nullopt);
  EXPECT_THAT(read("TRT-100300-MinMaxCalibration\nx: 3f800000\n").value().scales, ElementsAre(Pair("x", 1)));
  EXPECT_THROW(read("TRT-100300-MinMaxCalibration\nx\n"), Error);
}

// By name, of both signs; what it does not name has none.
TEST(TensorRtCache, ItsScalesAreLevels) {
  const std::vector<ir::QuantisableLayer> layers = {{"conv1", "x", 1}, {"conv2", "y", 2}};
  const CalibrationCache none("", nullptr);
  LevelPolicy policy(none, layers, Calibrator::kMinMax);
  policy.use({"1", "MinMaxCalibration", {{"x", 0.5f}, {"stranger", 2.0f}}}, layers);
  ASSERT_TRUE(policy.levels_for(layers[0]));
  EXPECT_EQ(policy.levels_for(layers[0])->scale, 0.5f);
  EXPECT_EQ(policy.levels_for(layers[0])->zero, 128);
  EXPECT_FALSE(policy.levels_for(layers[1]));
}

TEST(TensorRtCache, ComesBackToTheBit) {
  std::mt19937 rng(8);
  TensorRtCache cache{"8601", "MinMaxCalibration", {}};
  for (int i = 0; i < 500; ++i)
    cache.scales["tensor:" + std::to_string(i)] = std::ldexp(1 + static_cast<float>(i) / 512, i % 250 - 125);
  const std::string text = format_tensorrt_cache(cache);
  EXPECT_TRUE(is_tensorrt_cache(text));
  const TensorRtCache back = parse_tensorrt_cache("int8.cache", text);
  EXPECT_EQ(back.scales, cache.scales);
  EXPECT_EQ(format_tensorrt_cache(back), text);
  EXPECT_THAT(text, testing::StartsWith("TRT-8601-MinMaxCalibration\ntensor:0: "));
}

TEST(TensorRtCache, ScalesStandForThresholds) {
  EXPECT_EQ(threshold_of_scale(2), 254);
  EXPECT_EQ(scale_of_threshold(254), 2);
}

TEST(TensorRtCache, WhatIsWrongIsRefusedWithItsLine) {
  EXPECT_FALSE(is_tensorrt_cache("PWCALIBR"));
  EXPECT_THAT(refusal_of(""), HasSubstr("int8.cache: line 1"));
  EXPECT_THAT(refusal_of("input: 3c010a14\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal_of("TRT-x-Entropy\n"), HasSubstr("TRT-<version>-<algorithm>"));
  EXPECT_THAT(refusal_of("TRT-1\n"), HasSubstr("TRT-<version>-<algorithm>"));
  const std::string start = "TRT-100300-EntropyCalibration2\n";
  EXPECT_THAT(refusal_of(start + "input 3c010a14\n"), HasSubstr("line 2: is not 'name: scale'"));
  EXPECT_THAT(refusal_of(start + ": 3c010a14\n"), HasSubstr("is not 'name: scale'"));
  for (const char* digits : {"", "3c010a1g", "0x3c010a", "3c010a140", "-3c010a1", "3c010a14 "}) {
    EXPECT_THAT(refusal_of(start + "input: " + digits + "\n"), HasSubstr("hexadecimal")) << digits;
  }
  EXPECT_THAT(refusal_of(start + "a: 3c010a14\na: 3c010a14\n"), HasSubstr("line 3: names 'a' again"));
}

// FAULTS B21.
TEST(TensorRtCache, ScalesThatNothingCanBeDividedByAreRefused) {
  for (const char* digits : {"00000000", "0", "80000000", "bf800000", "7f800000", "7fc00000", "00000001"}) {
    const std::string message = refusal_of(std::string("TRT-1-x\nact: ") + digits + "\n");
    EXPECT_THAT(message, HasSubstr("line 2: the scale of 'act' is ")) << digits;
  }
  EXPECT_THROW(format_tensorrt_cache({"1", "x", {{"act", 0.0f}}}), Error);
  EXPECT_THROW(format_tensorrt_cache({"1", "x", {{"two\nlines", 1.0f}}}), Error);
}

TEST(TensorRtCache, AnyBytesAreReadOrRefused) {
  std::mt19937 rng(9);
  const std::string sound = "TRT-100300-EntropyCalibration2\ninput: 3c010a14\nb: 3f800000\n";
  for (int round = 0; round < 5000; ++round) {
    std::string text = sound.substr(0, rng() % (sound.size() + 1));
    for (size_t count = rng() % 4; count > 0 && !text.empty(); --count)
      text[rng() % text.size()] = static_cast<char>(rng());
    refusal_of(text);
  }
}

}  // namespace
}  // namespace planwright::calibrator
