#include "planfmt/checksum.h"

#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>
#include <vector>

namespace planwright::planfmt {
namespace {

TEST(Checksum, IsTheSameByAnyVectors) {
  std::mt19937 randomness(1);
  std::vector<std::byte> data((1 << 20) + 70);
  for (std::byte& byte : data) byte = static_cast<std::byte>(randomness());
  std::vector<size_t> sizes{1 << 20, (1 << 20) + 3};
  for (size_t size = 0; size < 600; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    const std::byte* begin = data.data() + size % 64;  // at any alignment
    const uint64_t expected = XXH3_64bits(begin, size);
    EXPECT_EQ(checksum_of(begin, size), expected) << size;
    if (__builtin_cpu_supports("avx2")) {
      EXPECT_EQ(checksum_avx2(begin, size), expected) << size;
    }
  }
}

}  // namespace
}  // namespace planwright::planfmt
