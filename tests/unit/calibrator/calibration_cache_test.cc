#include "calibrator/calibration_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "schemas/calibration_generated.h"
#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"

namespace planwright::calibrator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kHeader = 16;

// One tensor's calibration, of values that come in the given order and in pieces of that many.
TensorCalibration calibrate(const std::vector<float>& values, size_t piece, const std::string& name) {
  TensorCalibration made;
  made.name = name;
  const auto for_each_piece = [&](const auto& act) {
    for (size_t at = 0; at < values.size(); at += piece) {
      act(std::span(values.data() + at, std::min(piece, values.size() - at)));
    }
  };
  for_each_piece([&](std::span<const float> part) { made.range.add(part); });
  made.histogram.emplace(made.range.limit());
  for_each_piece([&](std::span<const float> part) { made.histogram->add(part, name); });
  return made;
}

std::vector<float> draw(unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(5000);
  for (float& value : values) value = normal(rng);
  return values;
}

Calibrations make() {
  Calibrations all;
  all[7] = calibrate(draw(1), 1000, "conv1_out");
  all[7].thresholds = {{"entropy", 1.5f}, {"mine", 2.0f}};
  all[uint64_t{1} << 63] = {"only a range", {-1, 3, 10, 2}, std::nullopt, {}};
  return all;
}

std::vector<std::byte> reseal(std::vector<std::byte> bytes) {
  const uint64_t checksum = XXH3_64bits(bytes.data() + kHeader, bytes.size() - kHeader);
  std::memcpy(bytes.data() + 8, &checksum, sizeof checksum);
  return bytes;
}

TEST(CalibrationFile, GivesBackWhatWasWritten) {
  const Calibrations all = make();
  Calibrations back;
  ASSERT_TRUE(parse_calibrations(calibration_bytes(all), &back).ok()) << last_error();
  EXPECT_EQ(back, all);
}

TEST(CalibrationFile, ShuffledAndRebatchedSamplesGiveTheSameBytes) {
  std::vector<float> values = draw(2);
  Calibrations all;
  all[1] = calibrate(values, 5000, "x");
  const std::vector<std::byte> bytes = calibration_bytes(all);
  std::mt19937 rng(3);
  for (const size_t piece : {1, 7, 512}) {
    std::shuffle(values.begin(), values.end(), rng);
    all[1] = calibrate(values, piece, "x");
    EXPECT_EQ(calibration_bytes(all), bytes) << piece;
  }
}

TEST(CalibrationFile, EveryByteCounts) {
  const std::vector<std::byte> sound = calibration_bytes(make());
  Calibrations read;
  for (size_t i = 0; i < sound.size(); i += i < 300 ? 1 : 101) {
    std::vector<std::byte> damaged = sound;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(parse_calibrations(damaged, &read).ok()) << i;
    EXPECT_TRUE(read.empty());
  }
  for (size_t size = 0; size < sound.size(); size += size < 300 ? 1 : 101) {
    EXPECT_FALSE(parse_calibrations({sound.begin(), sound.begin() + static_cast<ptrdiff_t>(size)}, &read).ok()) << size;
  }
}

// With a checksum that is right: whatever is read then is sound in itself.
TEST(CalibrationFile, HostileBytesAreRefusedOrHarmless) {
  Calibrations small = make();
  small.erase(7);
  std::mt19937 rng(4);
  for (const Calibrations& original : {make(), small}) {
    const std::vector<std::byte> sound = calibration_bytes(original);
    for (int round = 0; round < 4000; ++round) {
      std::vector<std::byte> damaged = sound;
      // Tables lie at the ends, the histogram between.
      const size_t reach = std::min<size_t>(damaged.size() - kHeader, 200);
      for (size_t count = 1 + rng() % 3; count > 0; --count) {
        const size_t at = rng() % 2 == 0 ? kHeader + rng() % reach : damaged.size() - 1 - rng() % reach;
        damaged[at] = rng() % 2 == 0 ? damaged[at] ^ std::byte(1 << rng() % 8) : std::byte(rng());
      }
      if (rng() % 8 == 0) damaged.erase(damaged.end() - static_cast<ptrdiff_t>(rng() % reach), damaged.end());
      Calibrations read;
      if (!parse_calibrations(reseal(damaged), &read).ok()) continue;
      for (const auto& [key, tensor] : read) {
        EXPECT_TRUE(std::isfinite(tensor.range.limit()));
        if (!tensor.histogram) continue;
        EXPECT_EQ(tensor.histogram->counts().size(), static_cast<size_t>(kBins));
        for (const Calibrator calibrator : kCalibrators) {
          const float threshold = threshold_of(calibrator, *tensor.histogram);
          EXPECT_TRUE(threshold >= 0 && threshold <= tensor.range.limit());
        }
      }
    }
  }
}

TEST(CalibrationFile, WhatNoCalibrationGivesIsRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto reason = [](const TensorCalibration& tensor) {
    Calibrations read;
    return parse_calibrations(calibration_bytes({{1, tensor}}), &read).ok() ? "" : std::string(last_error());
  };
  TensorCalibration tensor = make()[7];
  EXPECT_EQ(reason(tensor), "");
  tensor.thresholds["mine"] = nan;
  EXPECT_THAT(reason(tensor), HasSubstr("a threshold"));
  tensor.thresholds["mine"] = -1;
  EXPECT_THAT(reason(tensor), HasSubstr("a threshold"));
  tensor = make()[7];
  tensor.range.count += 1;
  EXPECT_THAT(reason(tensor), HasSubstr("other values"));
  for (const Range& range : {Range{2, 1, 1, 0}, Range{nan, 1, 1, 0}, Range{0, 1, 0, 0}}) {
    tensor = {"x", range, std::nullopt, {}};
    EXPECT_THAT(reason(tensor), HasSubstr("a range"));
  }
  tensor = {"x", {0, 1, 5, 0}, Histogram(1, std::vector<uint64_t>(kBins - 1, 0)), {}};
  EXPECT_THAT(reason(tensor), HasSubstr("2,048 bins"));
  tensor = {"x", {0, 1, 0, 0}, Histogram(1, std::vector<uint64_t>(kBins, uint64_t{1} << 60)), {}};
  tensor.range.count = 5;
  EXPECT_THAT(reason(tensor), HasSubstr("more values than there can be"));
}

// Else a file of a few megabytes would take gigabytes of memory.
TEST(CalibrationFile, AHistogramThatManyTensorsShareIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("x");
  const auto histogram = builder.CreateVector(std::vector<uint64_t>(kBins, 1));
  std::vector<flatbuffers::Offset<calibration::Tensor>> tensors;
  for (uint64_t key = 0; key < 100; ++key) {
    const auto thresholds = builder.CreateVector(std::vector<flatbuffers::Offset<calibration::Threshold>>());
    tensors.push_back(calibration::CreateTensor(builder, key, name, 0, 1, kBins, 0, histogram, thresholds));
  }
  builder.Finish(calibration::CreateCache(builder, 2, builder.CreateVector(tensors)));
  std::vector<std::byte> bytes = calibration_bytes({});
  bytes.resize(kHeader);
  const auto* body = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  bytes.insert(bytes.end(), body, body + builder.GetSize());
  Calibrations read;
  EXPECT_EQ(parse_calibrations(reseal(bytes), &read).code(), StatusCode::kCorrupt);
  EXPECT_THAT(last_error(), HasSubstr("stands for several"));
}

class CalibrationCacheTest : public testing::Test {
 protected:
  CalibrationCache open() {
    return CalibrationCache(path_, [this](const std::string& text) { warnings_.push_back(text); });
  }
  void save(uint64_t key, const std::string& name) {
    CalibrationCache cache = open();
    cache.put(key, calibrate(draw(static_cast<unsigned>(key)), 100, name));
    cache.save();
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put_contents(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string refusal() {
    try {
      open();
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  }

  tests::TemporaryFolder folder_;
  std::string path_ = folder_.file("calibration.cache");
  std::vector<std::string> warnings_;
};

TEST_F(CalibrationCacheTest, GivesBackWhatAnEarlierBuildFound) {
  save(1, "a");
  save(2, "b");
  const CalibrationCache cache = open();
  ASSERT_NE(cache.find(1), nullptr);
  EXPECT_EQ(cache.find(1)->name, "a");
  EXPECT_EQ(*cache.find(2), calibrate(draw(2), 5000, "b"));
  EXPECT_EQ(cache.find(3), nullptr);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1)
      << "something was left beside it";
}

TEST_F(CalibrationCacheTest, EveryCalibratorsThresholdComesOfOneCalibration) {
  save(1, "a");
  CalibrationCache cache = open();
  const Histogram histogram = *cache.find(1)->histogram;
  for (const Calibrator calibrator : kCalibrators) {
    EXPECT_EQ(cache.find_threshold(1, name_of(calibrator)), threshold_of(calibrator, histogram));
  }
  EXPECT_FALSE(cache.find_threshold(1, "auto"));
  EXPECT_FALSE(cache.find_threshold(2, "minmax"));
  TensorCalibration decided = *cache.find(1);
  decided.thresholds = {{"auto", 0.5f}, {"minmax", 0.25f}};
  cache.put(1, decided);
  cache.save();
  EXPECT_EQ(open().find_threshold(1, "auto"), 0.5f);
  EXPECT_EQ(open().find_threshold(1, "minmax"), 0.25f);
}

TEST_F(CalibrationCacheTest, TheSameCalibrationsAreTheSameBytes) {
  save(1, "a");
  save(2, "b");
  const std::string bytes = contents();
  std::filesystem::remove(path_);
  save(2, "b");
  save(1, "a");
  EXPECT_EQ(contents(), bytes);
}

TEST_F(CalibrationCacheTest, ADamagedFileIsIgnoredWithOneWarningAndReplaced) {
  save(1, "a");
  const std::string sound = contents();
  put_contents(sound.substr(0, sound.size() - 1));
  EXPECT_EQ(open().find(1), nullptr);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("ignored, and replaced")));
  save(2, "b");
  warnings_.clear();
  EXPECT_NE(open().find(2), nullptr);
  EXPECT_THAT(warnings_, IsEmpty());
}

// A cache of another file's name would cost the file.
TEST_F(CalibrationCacheTest, AFileThatIsNoneIsRefusedAndKept) {
  put_contents("notes");
  EXPECT_THAT(refusal(), HasSubstr("name another file"));
  EXPECT_EQ(contents(), "notes");
  put_contents("TRT-100300-EntropyCalibration2\nx: 3c010a14\n");
  EXPECT_THAT(refusal(), HasSubstr("TensorRT's calibration cache"));
  path_ = folder_.path().string();
  EXPECT_THAT(refusal(), HasSubstr("a folder"));
}

TEST_F(CalibrationCacheTest, WhatCannotBeSavedIsAnErrorOfItsPath) {
  path_ = folder_.file("absent/calibration.cache");
  CalibrationCache cache = open();
  cache.put(1, make()[7]);
  try {
    cache.save();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr("absent/calibration.cache"));
  }
}

TEST_F(CalibrationCacheTest, WithoutAFileItRemembersForThisProcess) {
  path_.clear();
  CalibrationCache cache = open();
  cache.put(1, make()[7]);
  cache.save();
  EXPECT_NE(cache.find(1), nullptr);
}

}  // namespace
}  // namespace planwright::calibrator
