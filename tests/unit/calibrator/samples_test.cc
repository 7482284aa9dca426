#include "calibrator/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "calibrator/arrays/npz.h"
#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"

namespace planwright::calibrator {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ir::Tensor floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  ir::Tensor tensor{DType::kF32, std::move(dims), ir::Bytes(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}
std::vector<float> values_of(const ir::Tensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

const InputSpec kRow{"x", DType::kF32, {kAnyLength, 2}};  // one row is a sample
const InputSpec kPair{"x", DType::kF32, {2, 1}};
const InputSpec kMask{"mask", DType::kI64, {kAnyLength, kAnyLength}};

ir::Tensor integers(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  ir::Tensor tensor{DType::kI64, std::move(dims), ir::Bytes(values.size() * sizeof(int64_t))};
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

class Samples : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
  }
  void write_npy(const std::string& name, const ir::Tensor& tensor) { write(name, arrays::format_npy(tensor)); }
  void write_npz(const std::string& name, const std::vector<std::pair<std::string, ir::Tensor>>& arrays) {
    write(name, arrays::format_npz(arrays));
  }
  // The values of "x" in each sample.
  std::vector<std::vector<float>> read(const std::string& name, const std::vector<InputSpec>& inputs = {kRow}) {
    SampleSource source(folder_.file(name), inputs, [&](const std::string& text) { warnings_.push_back(text); });
    std::vector<std::vector<float>> all;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::vector<float>> these;
      for (Sample sample; source.next(&sample);) these.push_back(values_of(sample.at("x")));
      EXPECT_TRUE(round == 0 || these == all) << "the second round differs";
      all = these;
      source.rewind();
    }
    EXPECT_EQ(all.size() + warnings_.size(), source.count());
    return all;
  }
  std::string message_of(const std::string& name, const std::vector<InputSpec>& inputs = {kRow},
                         StatusCode code = StatusCode::kInvalid) {
    try {
      read(name, inputs);
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
  }

  tests::TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(Samples, AnArchivesFirstAxisCountsThem) {
  write_npz("a.npz", {{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(read("a.npz"), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5, 6)));
  SampleSource source(folder_.file("a.npz"), {kRow});
  Sample sample;
  ASSERT_TRUE(source.next(&sample));
  EXPECT_EQ(sample.at("x").dims, (std::vector<int64_t>{1, 2}));
}

TEST_F(Samples, AnAxisInFrontOfTheInputsOwnCountsThem) {
  write_npz("a.npz", {{"x", floats({2, 1, 2}, {1, 2, 3, 4})}, {"scalar", floats({2}, {7, 8})}});
  EXPECT_THAT(read("a.npz"), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
  SampleSource source(folder_.file("a.npz"), {kRow, {"scalar", DType::kF32, {}}});
  Sample sample;
  ASSERT_TRUE(source.next(&sample));
  EXPECT_EQ(sample.at("x").dims, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(sample.at("scalar").dims.empty());
}

TEST_F(Samples, AnInputOfSeveralRowsTakesThatMany) {
  write_npz("a.npz", {{"x", floats({4, 1}, {1, 2, 3, 4})}});
  EXPECT_THAT(read("a.npz", {kPair}), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
  write_npz("a.npz", {{"x", floats({3, 1}, {1, 2, 3})}});
  EXPECT_THAT(message_of("a.npz", {kPair}), HasSubstr("3 rows do not make samples of 2"));
}

TEST_F(Samples, OneArrayForEachInput) {
  const ir::Tensor mask{DType::kI64, {2, 3}, ir::Bytes(48, std::byte{1})};
  write_npz("a.npz", {{"x", floats({2, 2}, {1, 2, 3, 4})}, {"mask", mask}, {"labels", floats({5}, {0, 1, 2, 3, 4})}});
  SampleSource source(folder_.file("a.npz"), {kRow, kMask});
  EXPECT_EQ(source.count(), 2u);
  Sample sample;
  ASSERT_TRUE(source.next(&sample));
  EXPECT_EQ(sample.size(), 2u);
  EXPECT_EQ(sample.at("mask").dtype, DType::kI64);
  EXPECT_EQ(sample.at("mask").dims, (std::vector<int64_t>{1, 3}));
}

TEST_F(Samples, AFoldersFilesComeByNameEachWithItsShape) {
  write_npy("b.npy", floats({1, 3}, {3, 4, 5}));
  write_npz("a.npz", {{"x", floats({2, 1}, {1, 2})}});
  write_npy("c.npy", floats({0, 3}, {}));
  write("truth.json", "{}");
  const InputSpec any{"x", DType::kF32, {kAnyLength, kAnyLength}};
  EXPECT_THAT(read(".", {any}), ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(3, 4, 5)));
}

TEST_F(Samples, ATextFileListsThemRelativeToItself) {
  fs::create_directory(folder_.file("data"));
  write_npy("data/b.npy", floats({1, 2}, {1, 2}));
  write_npy("a.npy", floats({1, 2}, {3, 4}));
  write("list.txt", "data/b.npy\r\n\n" + folder_.file("a.npy") + "\ndata/b.npy");
  EXPECT_THAT(read("list.txt"), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(1, 2)));
}

TEST_F(Samples, TypesThatNumPyHasNotAreTheirBits) {
  ir::Tensor bits{DType::kU16, {2, 2}, ir::Bytes(8, std::byte{0x40})};
  write_npy("a.npy", bits);
  SampleSource source(folder_.file("a.npy"), {{"x", DType::kBF16, {kAnyLength, 2}}});
  Sample sample;
  ASSERT_TRUE(source.next(&sample));
  EXPECT_EQ(sample.at("x").dtype, DType::kBF16);
}

// FAULTS B20.
TEST_F(Samples, WhatDoesNotFitIsRefusedWithFileArrayAndAdvice) {
  write_npz("a.npz", {{"y", floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {"z", floats({1}, {1})}});
  EXPECT_THAT(message_of("a.npz"), AllOf(HasSubstr("a.npz"), HasSubstr("no array 'x'"), HasSubstr("'y', 'z'")));
  write_npz("a.npz", {{"x", {DType::kF64, {1, 2}, ir::Bytes(16)}}});
  EXPECT_THAT(message_of("a.npz"), HasSubstr("a.npz: array 'x' holds fp64; input 'x' is fp32"));
  write_npz("a.npz", {{"x", floats({1, 3}, {1, 2, 3})}});
  EXPECT_THAT(message_of("a.npz"), AllOf(HasSubstr("array 'x' is 1x3"), HasSubstr("input 'x' takes ?x2")));
  write_npz("a.npz", {{"x", floats({2}, {1, 2})}});
  EXPECT_THAT(message_of("a.npz"), HasSubstr("along its first axis"));
  write_npz("a.npz", {{"x", floats({}, {1})}});
  EXPECT_THAT(message_of("a.npz", {{"x", DType::kF32, {}}}), HasSubstr("array 'x' is scalar"));
  write_npz("a.npz", {{"x", floats({2, 2}, {1, 2, 3, 4})}, {"mask", {DType::kI64, {3, 1}, ir::Bytes(24)}}});
  EXPECT_THAT(message_of("a.npz", {kRow, kMask}), HasSubstr("2 samples of 'x' and 3 of 'mask'"));
  write_npy("a.npy", floats({1, 2}, {1, 2}));
  EXPECT_THAT(message_of("a.npy", {kRow, kMask}), HasSubstr("an .npz of the arrays 'x', 'mask'"));
}

TEST_F(Samples, NoSamplesAreRefused) {
  write_npz("a.npz", {{"x", floats({0, 2}, {})}});
  EXPECT_THAT(message_of("a.npz"), HasSubstr("holds no samples"));
  fs::create_directory(folder_.file("empty"));
  EXPECT_THAT(message_of("empty"), HasSubstr("no .npy or .npz"));
  write("list.txt", "\n");
  EXPECT_THAT(message_of("list.txt"), HasSubstr("lists no"));
}

TEST_F(Samples, PathsThatAreNothingAreRefused) {
  EXPECT_THAT(message_of("absent.npz", {kRow}, StatusCode::kIo), HasSubstr("absent.npz"));
  write("list.txt", "absent.npy\n");
  EXPECT_THAT(message_of("list.txt", {kRow}, StatusCode::kIo), AllOf(HasSubstr("line 1"), HasSubstr("absent.npy")));
  write("list.txt", "\nwords\n");
  EXPECT_THAT(message_of("list.txt"), HasSubstr("line 2 is 'words'"));
  write("list.bin", std::string("\0\1\2", 3));
  EXPECT_THAT(message_of("list.bin"), HasSubstr("no text file"));
  write("a.npy", "PK");
  EXPECT_THAT(message_of("a.npy"), HasSubstr("no .npy file"));
}

TEST_F(Samples, DamagedFilesAreRefusedBeforeAnythingIsRead) {
  write_npy("a.npy", floats({1, 2}, {1, 2}));
  const std::string whole = arrays::format_npy(floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  write("b.npy", whole.substr(0, whole.size() - 1));
  EXPECT_THROW(SampleSource(folder_.path().string(), {kRow}), Error);
}

// FAULTS B19.
TEST_F(Samples, OneWithNanIsLeftOutWithOneWarning) {
  write_npz("a.npz", {{"x", floats({3, 2}, {1, 2, 3, kNan, 5, 6})}});
  EXPECT_THAT(read("a.npz"), ElementsAre(ElementsAre(1, 2), ElementsAre(5, 6)));
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("a.npz: array 'x': sample 1 holds NaN"))));
}

TEST_F(Samples, OnlySamplesWithNanAreRefused) {
  write_npz("a.npz", {{"x", floats({1, 2}, {1, kNan})}});
  EXPECT_THAT(message_of("a.npz"), HasSubstr("none is left"));
}

// What is in memory at once is one file's rows, not all files.
TEST_F(Samples, ManyFilesAreOpenedOneByOne) {
  const int count = 1500;  // more than a process may have open
  fs::create_directory(folder_.file("many"));
  for (int i = 0; i < count; ++i) {
    write_npy("many/" + std::to_string(100000 + i) + ".npy", floats({1, 2}, {static_cast<float>(i), 0}));
  }
  const std::vector<std::vector<float>> all = read("many");
  ASSERT_EQ(all.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(all[static_cast<size_t>(i)][0], static_cast<float>(i));
}

// Each sample then has its own, one for each of its rows.
TEST_F(Samples, LabelsAreIntegersThatNoInputIsCalled) {
  const ir::Tensor x = floats({2, 2}, {1, 2, 3, 4}), labels = integers({2}, {7, 5});
  write_npz("labelled.npz", {{"x", x}, {"labels", labels}});
  write_npz("floats.npz", {{"x", x}, {"label", floats({2}, {7, 5})}});
  write_npz("none.npz", {{"x", x}});
  EXPECT_EQ(SampleSource(folder_.file("none.npz"), {kRow}).find_labels(), std::nullopt);
  EXPECT_EQ(SampleSource(folder_.file("floats.npz"), {kRow}).find_labels(), std::nullopt);
  const std::optional<InputSpec> found = SampleSource(folder_.file("labelled.npz"), {kRow}).find_labels();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "labels");
  EXPECT_EQ(SampleSource(folder_.file("labelled.npz"), {kRow, *found}).find_labels(), std::nullopt);
  SampleSource source(folder_.file("labelled.npz"), {kRow, *found});
  Sample sample;
  for (const int64_t expected : {7, 5}) {
    ASSERT_TRUE(source.next(&sample));
    EXPECT_EQ(sample.at("labels").data, integers({1}, {expected}).data);
  }
}

}  // namespace
}  // namespace planwright::calibrator
