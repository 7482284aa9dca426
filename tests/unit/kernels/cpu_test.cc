#include "tactics/kernels/cpu.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace planwright {
namespace {

// The compiler's run-time library reads CPUID and XCR0 too.
TEST(Cpu, TierAgreesWithTheCompilersDetection) {
  __builtin_cpu_init();
  Isa expected = Isa::kReference;
  if (__builtin_cpu_supports("x86-64-v2")) expected = Isa::kBaseline;
  if (__builtin_cpu_supports("x86-64-v3") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul")) {
    expected = Isa::kAvx2;
    if (__builtin_cpu_supports("x86-64-v4")) {
      expected = Isa::kAvx512;
      if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16")) {
        expected = __builtin_cpu_supports("amx-bf16") ? Isa::kAmx : Isa::kAvx512Vnni;
      }
    }
  }
  EXPECT_EQ(detect_isa(), expected) << name_of(detect_isa());
}

TEST(Cpu, CachesHavePlausibleSizes) {
  const CacheSizes sizes = cache_sizes();
  EXPECT_GE(sizes.l1d, 8u << 10);
  EXPECT_LE(sizes.l1d, 1u << 20);
  EXPECT_GE(sizes.l2, sizes.l1d);
}

TEST(Cpu, DescriptionNamesTierAndCachesAndIsCut) {
  char text[128];
  describe_cpu(text, sizeof text);
  const std::string all = text;
  EXPECT_NE(all.find(name_of(detect_isa())), std::string::npos) << all;
  EXPECT_NE(all.find(" L1d=" + std::to_string(cache_sizes().l1d >> 10) + "K"), std::string::npos) << all;
  char again[128];
  describe_cpu(again, sizeof again);
  EXPECT_STREQ(again, text);

  char little[8];
  memset(little, 'x', sizeof little);
  describe_cpu(little, 5);
  EXPECT_EQ(little, all.substr(0, 4));
  EXPECT_EQ(little[5], 'x');
}

}  // namespace
}  // namespace planwright
