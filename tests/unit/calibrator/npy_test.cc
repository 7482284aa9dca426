#include "calibrator/arrays/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schemas/types/error.h"

namespace planwright::arrays {
namespace {

class Npy : public testing::Test {
 protected:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("planwright_npy_" + std::to_string(getpid()) + "_" +
                                                 testing::UnitTest::GetInstance()->current_test_info()->name()))
          .string();
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
};

ir::Tensor make(DType dtype, std::vector<int64_t> dims) {
  ir::Tensor tensor{dtype, std::move(dims), {}};
  size_t bytes = size_of(dtype);
  for (const int64_t dim : tensor.dims) bytes *= static_cast<size_t>(dim);
  for (size_t i = 0; i < bytes; ++i) tensor.data.push_back(static_cast<std::byte>(i * 37));
  return tensor;
}

TEST_F(Npy, EveryTypeComesBack) {
  for (int type = 0; type < kDTypeCount; ++type) {
    const DType dtype = static_cast<DType>(type);
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}}) {
      const ir::Tensor tensor = make(dtype, dims);
      write(format_npy(tensor));
      const ir::Tensor back = read_npy(path_);
      EXPECT_TRUE(back.dtype == dtype || holds_bits_of(back.dtype, dtype)) << name_of(dtype);
      EXPECT_EQ(back.dims, dims);
      EXPECT_EQ(back.data, tensor.data);
    }
  }
}

TEST_F(Npy, BitsOfTypesThatNumPyHasNotAreRead) {
  for (const auto& [descr, dtype] : {std::pair("|V1", DType::kU8), {"<f1", DType::kU8}, {"<V2", DType::kU16}}) {
    const ir::Tensor tensor = make(dtype, {4});
    std::string text = format_npy(tensor);
    text.replace(text.find(dtype == DType::kU8 ? "|u1" : "<u2"), 3, descr);
    write(text);
    EXPECT_EQ(read_npy(path_).dtype, dtype) << descr;
    EXPECT_EQ(read_npy(path_).data, tensor.data);
  }
  EXPECT_TRUE(holds_bits_of(DType::kI8, DType::kI4));
  EXPECT_FALSE(holds_bits_of(DType::kF32, DType::kF8E5M2));
  EXPECT_FALSE(holds_bits_of(DType::kU8, DType::kI8));
}

TEST_F(Npy, DataBeginAtAMultipleOf64) {
  for (const int64_t length : {1, 12, 123, 123456}) {
    const ir::Tensor tensor = make(DType::kU8, {length});
    EXPECT_EQ((format_npy(tensor).size() - tensor.data.size()) % 64, 0u);
  }
}

TEST_F(Npy, EveryTruncationIsRefused) {
  const std::string whole = format_npy(make(DType::kF32, {2, 3}));
  for (size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_THROW(read_npy(path_), Error) << size;
  }
}

TEST_F(Npy, FortranOrderIsTurnedIntoRowMajor) {
  const auto read_fortran = [&](const std::vector<int64_t>& dims, const std::vector<uint8_t>& elements) {
    ir::Tensor tensor{DType::kU8, dims, ir::Bytes(elements.size())};
    std::memcpy(tensor.data.data(), elements.data(), elements.size());
    std::string text = format_npy(tensor);
    text.replace(text.find("False"), 5, "True ");
    write(text);
    const ir::Tensor back = read_npy(path_);
    EXPECT_EQ(back.dims, dims);
    std::vector<int> values;
    for (const std::byte value : back.data) values.push_back(std::to_integer<int>(value));
    return values;
  };
  EXPECT_EQ(read_fortran({2, 3}, {0, 3, 1, 4, 2, 5}), (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read_fortran({2, 1, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7}), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(read_fortran({3}, {7, 8, 9}), (std::vector{7, 8, 9}));
  EXPECT_EQ(read_fortran({}, {7}), (std::vector{7}));
  EXPECT_EQ(read_fortran({2, 0}, {}), std::vector<int>{});
}

TEST_F(Npy, MissingFileIsIo) {
  try {
    read_npy("/nowhere/x.npy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kIo);
  }
}

// Headers are not trusted: each part of one may be anything.
TEST_F(Npy, HeadersThatNoNumPyWritesAreRefused) {
  const std::string whole = format_npy(make(DType::kU8, {2, 3}));
  const auto expect_refused = [&](const std::string& part, const std::string& with, const std::string& words) {
    std::string text = whole;
    text.replace(text.find(part), part.size(), with);
    text[8] = static_cast<char>(text[8] + static_cast<int>(with.size()) - static_cast<int>(part.size()));
    write(text);
    try {
      read_npy(path_);
      ADD_FAILURE() << with << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect_refused("(2, 3)", "(-2, -3)", "no shape");
  expect_refused("(2, 3)", "(2; 3)", "no shape");
  expect_refused("(2, 3)", "(2, 99999999999999999999)", "no shape");
  expect_refused("(2, 3)", "(4611686018427387904, 3, 8)", "overflows");
  expect_refused("(2, 3)", "(2, 3", "no shape");
  expect_refused("(2, 3)", "(2, 4)", "its size");
  expect_refused("'|u1'", "[('a', '|u1')]", "no type");
  expect_refused("'|u1'", "'>f4'", "'>f4' are not supported");
  expect_refused("'|u1'", "'|u1", "not supported");
}

TEST_F(Npy, AHeaderAsLongAsTheFileIsRefused) {
  std::string text("\x93NUMPY\x02\x00", 8);
  const uint32_t length = 3 << 20;
  text.append(reinterpret_cast<const char*>(&length), sizeof length);
  write(text + std::string(length, ' '));
  EXPECT_THROW(read_npy(path_), Error);
}

TEST_F(Npy, RowsComeInPieces) {
  const ir::Tensor tensor = make(DType::kU16, {6, 2});
  std::string text = format_npy(tensor), turned = text;
  turned.replace(turned.find("False"), 5, "True ");
  for (const std::string& file : {text, turned}) {
    write(file);
    const ir::Tensor whole = read_npy(path_);
    ArrayReader reader(open_file(path_), path_);
    ir::Bytes rows;
    for (const int64_t count : {1, 2, 3}) {
      const ir::Tensor part = reader.read_rows(count);
      EXPECT_EQ(part.dims, (std::vector<int64_t>{count, 2}));
      rows.insert(rows.end(), part.data.begin(), part.data.end());
    }
    EXPECT_EQ(rows, whole.data);
  }
}

TEST_F(Npy, AFolderIsNoFile) {
  try {
    read_npy(std::filesystem::temp_directory_path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kIo);
    EXPECT_NE(std::string(error.what()).find("a folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace planwright::arrays
