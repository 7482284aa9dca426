#include "calibrator/arrays/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <random>

#include "schemas/types/error.h"
#include "tests/support/temporary_folder.h"

namespace planwright::arrays {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ir::Tensor make(DType dtype, std::vector<int64_t> dims, int step = 37) {
  ir::Tensor tensor{dtype, std::move(dims), {}};
  size_t bytes = size_of(dtype);
  for (const int64_t dim : tensor.dims) bytes *= static_cast<size_t>(dim);
  for (size_t i = 0; i < bytes; ++i) tensor.data.push_back(static_cast<std::byte>(i * step));
  return tensor;
}

void put(std::string& text, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 255);
}

std::string deflated(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string made(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  deflate(&stream, Z_FINISH);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

// An archive of one file as numpy.savez_compressed writes it, or with sizes in the 64-bit fields.
std::string compressed_archive(const std::string& name, const std::string& plain, bool is_wide, uint64_t claimed = 0,
                               int method = 8) {
  const std::string stored = deflated(plain);
  const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  const uint64_t size = claimed == 0 ? plain.size() : claimed;
  std::string archive;
  put(archive, 0x04034b50, 4);
  put(archive, 45, 2);
  put(archive, 0, 2);
  put(archive, static_cast<uint64_t>(method), 2);
  put(archive, 0, 4);
  put(archive, crc, 4);
  put(archive, 0xFFFFFFFF, 4);
  put(archive, 0xFFFFFFFF, 4);
  put(archive, name.size(), 2);
  put(archive, 20, 2);  // NumPy writes 64-bit sizes here always
  archive += name;
  put(archive, 1, 2);
  put(archive, 16, 2);
  put(archive, size, 8);
  put(archive, stored.size(), 8);
  archive += stored;
  const size_t directory = archive.size();
  put(archive, 0x02014b50, 4);
  put(archive, 45, 2);
  put(archive, 45, 2);
  put(archive, 0, 2);
  put(archive, static_cast<uint64_t>(method), 2);
  put(archive, 0, 4);
  put(archive, crc, 4);
  put(archive, is_wide ? 0xFFFFFFFF : stored.size(), 4);
  put(archive, is_wide ? 0xFFFFFFFF : size, 4);
  put(archive, name.size(), 2);
  put(archive, is_wide ? 32 : 0, 2);
  put(archive, 0, 10);  // comment, disk, attributes
  put(archive, is_wide ? 0xFFFFFFFF : 0, 4);
  archive += name;
  if (is_wide) {
    put(archive, 0x5455, 2);  // some other field
    put(archive, 0, 2);
    put(archive, 1, 2);
    put(archive, 24, 2);
    put(archive, size, 8);
    put(archive, stored.size(), 8);
    put(archive, 0, 8);
  }
  const size_t end = archive.size();
  if (is_wide) {
    put(archive, 0x06064b50, 4);
    put(archive, 44, 8);
    put(archive, 45, 2);
    put(archive, 45, 2);
    put(archive, 0, 8);
    put(archive, 1, 8);
    put(archive, 1, 8);
    put(archive, end - directory, 8);
    put(archive, directory, 8);
    put(archive, 0x07064b50, 4);
    put(archive, 0, 4);
    put(archive, end, 8);
    put(archive, 1, 4);
  }
  put(archive, 0x06054b50, 4);
  put(archive, 0, 4);
  put(archive, is_wide ? 0xFFFF : 1, 2);
  put(archive, is_wide ? 0xFFFF : 1, 2);
  put(archive, is_wide ? 0xFFFFFFFF : end - directory, 4);
  put(archive, is_wide ? 0xFFFFFFFF : directory, 4);
  put(archive, 0, 2);
  return archive;
}

class Npz : public testing::Test {
 protected:
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string message_of(const std::string& array = "x") {
    try {
      NpzArchive(path_).open(array).read_all();
      return "none";
    } catch (const Error& error) {
      EXPECT_NE(error.code(), StatusCode::kIo);
      return error.what();
    }
  }

  tests::TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.npz");
};

TEST_F(Npz, WhatIsWrittenComesBack) {
  const ir::Tensor a = make(DType::kF32, {4}), b = make(DType::kI64, {2, 2});
  write(format_npz({{"b", b}, {"a/x:0", a}}));
  const NpzArchive archive(path_);
  EXPECT_THAT(archive.names(), ElementsAre("a/x:0", "b"));
  EXPECT_TRUE(archive.has("b"));
  EXPECT_FALSE(archive.has("b.npy"));
  const ir::Tensor back = archive.open("a/x:0").read_all();
  EXPECT_EQ(back.dtype, DType::kF32);
  EXPECT_EQ(back.dims, a.dims);
  EXPECT_EQ(back.data, a.data);
  EXPECT_EQ(archive.open("b").read_rows(1).data, ir::Bytes(b.data.begin(), b.data.begin() + 16));
}

TEST_F(Npz, HoldsTheFilesAsTheyAre) {
  const ir::Tensor a = make(DType::kF32, {4}), b = make(DType::kI64, {2, 2});
  const std::string archive = format_npz({{"a", a}, {"b", b}});
  EXPECT_NE(archive.find("a.npy" + format_npy(a)), std::string::npos);
  EXPECT_NE(archive.find("b.npy" + format_npy(b)), std::string::npos);
  EXPECT_EQ(archive.substr(archive.size() - 22, 4), std::string("PK\x05\x06"));
}

TEST_F(Npz, CompressedArchivesAreReadInPieces) {
  const ir::Tensor large = make(DType::kF32, {1000, 100}, 11);
  for (const bool is_wide : {false, true}) {
    write(compressed_archive("x.npy", format_npy(large), is_wide));
    ArrayReader reader = NpzArchive(path_).open("x");
    ir::Bytes rows;
    for (int64_t i = 0; i < 1000; i += 8) {
      const ir::Tensor part = reader.read_rows(8);
      rows.insert(rows.end(), part.data.begin(), part.data.end());
    }
    EXPECT_EQ(rows, large.data) << is_wide;
  }
}

TEST_F(Npz, OtherFilesOfAnArchiveAreNoArrays) {
  write(compressed_archive("notes.txt", "text", false));
  EXPECT_TRUE(NpzArchive(path_).names().empty());
}

TEST_F(Npz, WhatIsNoArchiveIsRefused) {
  for (const std::string& bytes : {std::string(), std::string("PK"), std::string(100000, 'x')}) {
    write(bytes);
    EXPECT_THAT(message_of(), HasSubstr("no .npz archive"));
  }
}

// An archive that claims a terabyte may not make anyone take memory for it.
TEST_F(Npz, AnArrayLargerThanItsBytesCanHoldIsRefused) {
  std::string huge = format_npy(make(DType::kU8, {1}));
  huge.replace(huge.find("(1,)"), 4, "(1099511627776,)");
  const std::string spaces = "            ";  // that the longer shape has taken
  huge.erase(huge.find(spaces), spaces.size());
  write(compressed_archive("x.npy", huge, true, (uint64_t{1} << 40) + 128));
  EXPECT_THAT(message_of(), HasSubstr("more than its bytes can hold"));
}

TEST_F(Npz, OtherMethodsOfCompressionAreRefused) {
  write(compressed_archive("x.npy", format_npy(make(DType::kU8, {4})), false, 0, 14));
  EXPECT_THAT(message_of(), HasSubstr("numpy.savez"));
}

TEST_F(Npz, TwoArraysOfOneNameAreRefused) {
  write(format_npz({{"x", make(DType::kU8, {4})}, {"x", make(DType::kU8, {4})}}));
  EXPECT_THAT(message_of(), HasSubstr("two arrays 'x'"));
}

TEST_F(Npz, EveryTruncationIsRefused) {
  const ir::Tensor tensor = make(DType::kF32, {3, 5});
  for (const std::string& whole :
       {format_npz({{"x", tensor}}), compressed_archive("x.npy", format_npy(tensor), true)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      write(whole.substr(0, size));
      EXPECT_NE(message_of(), "none") << size;
    }
  }
}

// What is flipped is found by a checksum, a size or a name, or it is a field that nobody reads.
TEST_F(Npz, FlippedBitsNeverChangeWhatIsRead) {
  const ir::Tensor tensor = make(DType::kF32, {3, 5});
  std::mt19937 rng(7);
  for (const std::string& whole : {format_npz({{"x", tensor}}), compressed_archive("x.npy", format_npy(tensor), false),
                                   compressed_archive("x.npy", format_npy(tensor), true)}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << rng() % 8);
      write(damaged);
      try {
        const NpzArchive archive(path_);
        if (!archive.has("x")) continue;
        EXPECT_EQ(archive.open("x").read_all().data, tensor.data) << i;
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace planwright::arrays
