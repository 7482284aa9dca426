// L1, L2, L3: files that were cut, added to, flipped, or are something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planwright/planwright.h"
#include "tests/support/loaded.h"
#include "tests/support/reseal.h"
#include "tests/support/small_plan.h"

namespace planwright {
namespace {

using testing::HasSubstr;
using tests::Aligned;

int open_memory(const void* data, size_t size, pw_engine** engine) {
  return pw_engine_open_memory(data, size, nullptr, engine);
}

int open_bytes(const std::vector<char>& bytes) {
  Aligned copy(bytes);
  pw_engine* engine = nullptr;
  const int status = open_memory(copy.data(), copy.size(), &engine);
  EXPECT_EQ(engine != nullptr, status == PW_OK);
  pw_engine_close(engine);
  return status;
}

const std::vector<char>& small_engine() {
  static const std::vector<char> bytes = tests::engine_bytes(tests::matmul_relu_plan().plan);
  return bytes;
}

TEST(Damage, TheUndamagedFileOpens) { EXPECT_EQ(open_bytes(small_engine()), PW_OK) << pw_last_error(); }

TEST(Damage, EveryTruncationIsCorrupt) {
  Aligned copy(small_engine());
  for (size_t size = 0; size < copy.size(); ++size) {
    pw_engine* engine = nullptr;
    ASSERT_EQ(open_memory(copy.data(), size, &engine), PW_CORRUPT) << size;
  }
}

TEST(Damage, TrailingBytesAreCorrupt) {
  for (const size_t extra : {1, 64, 4096}) {
    std::vector<char> bytes = small_engine();
    bytes.resize(bytes.size() + extra);
    EXPECT_EQ(open_bytes(bytes), PW_CORRUPT);
    EXPECT_THAT(pw_last_error(), HasSubstr("cut short or added to"));
  }
}

TEST(Damage, EveryFlippedBitIsCorrupt) {
  Aligned copy(small_engine());
  for (size_t bit = 0; bit < copy.size() * 8; ++bit) {
    copy.data()[bit / 8] ^= static_cast<char>(1 << bit % 8);
    pw_engine* engine = nullptr;
    ASSERT_EQ(open_memory(copy.data(), copy.size(), &engine), PW_CORRUPT) << "bit " << bit;
    copy.data()[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(Damage, ATrustedFileSkipsOnlyTheChecksumsOfWeights) {
  Aligned copy(small_engine());
  const planfmt::FileHeader header = tests::header_of(small_engine());
  const pw_open_options trusted = {sizeof(pw_open_options), PW_SOURCE_MAP, 1};
  for (size_t byte = 0; byte < copy.size(); ++byte) {
    copy.data()[byte] ^= 1;
    pw_engine* engine = nullptr;
    const int status = pw_engine_open_memory(copy.data(), copy.size(), &trusted, &engine);
    ASSERT_EQ(status, byte < header.weights_offset ? PW_CORRUPT : PW_OK) << "byte " << byte;
    pw_engine_close(engine);
    copy.data()[byte] ^= 1;
  }
}

TEST(Damage, WrongMagicIsCorrupt) {
  std::vector<char> bytes = small_engine();
  bytes[1] = 'X';
  tests::reseal(&bytes);
  EXPECT_EQ(open_bytes(bytes), PW_CORRUPT);
  EXPECT_THAT(pw_last_error(), HasSubstr("not a Planwright engine"));
}

TEST(Damage, AnotherVersionIsIncompatible) {
  for (const uint32_t version : {0u, planfmt::kFormatVersion + 1, ~0u}) {
    std::vector<char> bytes = small_engine();
    planfmt::FileHeader header = tests::header_of(bytes);
    header.version = version;
    tests::put_header(header, &bytes);
    EXPECT_EQ(open_bytes(bytes), PW_INCOMPATIBLE);
    EXPECT_THAT(pw_last_error(), HasSubstr("format version " + std::to_string(version)));
  }
}

// L5: no field of the header can send the reader elsewhere, even with a right checksum.
TEST(Damage, EveryHeaderFieldHasOneValue) {
  const planfmt::FileHeader sound = tests::header_of(small_engine());
  for (size_t offset = offsetof(planfmt::FileHeader, header_bytes); offset < planfmt::kHeaderChecksumOffset;
       offset += 4) {
    for (const uint32_t value : {0u, 1u, 64u, 4096u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
      std::vector<char> bytes = small_engine();
      planfmt::FileHeader header = sound;
      memcpy(reinterpret_cast<char*>(&header) + offset, &value, sizeof value);
      if (memcmp(&header, &sound, sizeof header) == 0) continue;
      tests::put_header(header, &bytes);
      const int status = open_bytes(bytes);
      EXPECT_TRUE(status == PW_CORRUPT || status == PW_RESOURCE) << offset << " " << value << " gave " << status;
    }
  }
}

TEST(Damage, NonZeroPaddingIsCorruptWithRightChecksums) {
  std::vector<char> bytes = small_engine();
  bytes[tests::header_of(bytes).weights_offset - 1] = 1;
  tests::reseal(&bytes);
  EXPECT_EQ(open_bytes(bytes), PW_CORRUPT);
  EXPECT_THAT(pw_last_error(), HasSubstr("not zero"));
}

TEST(Damage, FilesThatAreNoFiles) {
  const tests::TemporaryFolder folder;
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open(folder.path().c_str(), nullptr, &engine), PW_IO);
  EXPECT_THAT(pw_last_error(), HasSubstr("is a folder"));
  EXPECT_EQ(pw_engine_open("/dev/zero", nullptr, &engine), PW_IO);
  EXPECT_EQ(pw_engine_open(folder.file("absent").c_str(), nullptr, &engine), PW_IO);
  EXPECT_THAT(pw_last_error(), HasSubstr(folder.file("absent")));
  std::ofstream(folder.file("empty")).close();
  EXPECT_EQ(pw_engine_open(folder.file("empty").c_str(), nullptr, &engine), PW_CORRUPT);
  EXPECT_EQ(engine, nullptr);
}

TEST(Damage, MemoryMustBeAligned) {
  Aligned copy(small_engine());
  std::vector<char> shifted(small_engine().size() + 128);
  char* odd = shifted.data() + (64 - reinterpret_cast<uintptr_t>(shifted.data()) % 64) % 64 + 1;
  memcpy(odd, copy.data(), copy.size());
  pw_engine* engine = nullptr;
  EXPECT_EQ(open_memory(odd, copy.size(), &engine), PW_INVALID);
  // What is copied may lie anywhere.
  const pw_open_options read = {sizeof(pw_open_options), PW_SOURCE_READ, 0};
  EXPECT_EQ(pw_engine_open_memory(odd, copy.size(), &read, &engine), PW_OK) << pw_last_error();
  pw_engine_close(engine);
}

}  // namespace
}  // namespace planwright
