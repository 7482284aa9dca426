#include "tactics/kernels/cpu.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace planwright {
namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero where the CPU has no such leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Which register states the operating system saves: bit 1 SSE, 2 AVX, 5 to 7 AVX-512, 17 and 18 AMX. Only where CPUID
// says OSXSAVE.
uint64_t xcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

constexpr uint32_t bit(int n) { return uint32_t{1} << n; }
bool has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

struct Features {
  bool baseline = false, avx2 = false, avx512 = false, vnni_bf16 = false, amx = false;
};

Features detect_features() {
  const Registers leaf1 = cpuid(1);
  const Registers leaf7 = cpuid(7);
  const Registers leaf7_1 = cpuid(7, 1);
  const Registers extended = cpuid(0x80000001u);
  Features f;
  // SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT; LAHF: x86-64-v2.
  f.baseline = has(leaf1.ecx, bit(0) | bit(9) | bit(13) | bit(19) | bit(20) | bit(23)) && has(extended.ecx, bit(0));
  if (!has(leaf1.ecx, bit(27))) return f;  // OSXSAVE
  const uint64_t saved = xcr0();
  const bool saves_avx = (saved & 0x6) == 0x6;
  const bool saves_avx512 = (saved & 0xE6) == 0xE6;
  // PCLMUL, FMA, MOVBE, AES, AVX, F16C; BMI1, AVX2, BMI2; LZCNT.
  f.avx2 = f.baseline && saves_avx && has(leaf1.ecx, bit(1) | bit(12) | bit(22) | bit(25) | bit(28) | bit(29)) &&
           has(leaf7.ebx, bit(3) | bit(5) | bit(8)) && has(extended.ecx, bit(5));
  // F, DQ, CD, BW, VL.
  f.avx512 = f.avx2 && saves_avx512 && has(leaf7.ebx, bit(16) | bit(17) | bit(28) | bit(30) | bit(31));
  // AVX512_VNNI; AVX512_BF16.
  f.vnni_bf16 = f.avx512 && has(leaf7.ecx, bit(11)) && has(leaf7_1.eax, bit(5));
  // AMX_BF16, AMX_TILE, AMX_INT8.
  f.amx = f.vnni_bf16 && (saved >> 17 & 0x3) == 0x3 && has(leaf7.edx, bit(22) | bit(24) | bit(25));
  return f;
}

// Deterministic cache parameters: leaf 4 (Intel) and 0x8000001D (AMD) have one format.
CacheSizes caches_of_leaf(uint32_t leaf) {
  CacheSizes sizes;
  for (uint32_t i = 0; i < 16; ++i) {
    const Registers r = cpuid(leaf, i);
    const uint32_t type = r.eax & 0x1F;  // 1 data, 2 instruction, 3 both
    if (type == 0) break;
    if (type == 2) continue;
    const size_t ways = (r.ebx >> 22) + 1, partitions = (r.ebx >> 12 & 0x3FF) + 1, line = (r.ebx & 0xFFF) + 1;
    const size_t bytes = ways * partitions * line * (size_t{r.ecx} + 1);
    switch (r.eax >> 5 & 0x7) {
      case 1: sizes.l1d = bytes; break;
      case 2: sizes.l2 = bytes; break;
      case 3: sizes.l3 = bytes; break;
    }
  }
  return sizes;
}

}  // namespace

Isa detect_isa() {
  const Features f = detect_features();
  if (f.amx) return Isa::kAmx;
  if (f.vnni_bf16) return Isa::kAvx512Vnni;
  if (f.avx512) return Isa::kAvx512;
  if (f.avx2) return Isa::kAvx2;
  return f.baseline ? Isa::kBaseline : Isa::kReference;
}

bool enable_isa(Isa isa) {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return isa < Isa::kAmx || syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CacheSizes cache_sizes() {
  const CacheSizes sizes = caches_of_leaf(4);
  return sizes.l1d != 0 ? sizes : caches_of_leaf(0x8000001Du);
}

void describe_cpu(char* text, size_t size) {
  const Registers leaf0 = cpuid(0);
  char vendor[13] = {};
  memcpy(vendor, &leaf0.ebx, 4);
  memcpy(vendor + 4, &leaf0.edx, 4);
  memcpy(vendor + 8, &leaf0.ecx, 4);
  const uint32_t signature = cpuid(1).eax;
  uint32_t family = signature >> 8 & 0xF, model = signature >> 4 & 0xF;
  const uint32_t stepping = signature & 0xF;
  if (family == 6 || family == 15) model += (signature >> 16 & 0xF) << 4;
  if (family == 15) family += signature >> 20 & 0xFF;
  const CacheSizes caches = cache_sizes();
  snprintf(text, size, "%s %u/%u/%u %s L1d=%zuK L2=%zuK L3=%zuK", vendor, family, model, stepping,
           name_of(detect_isa()), caches.l1d >> 10, caches.l2 >> 10, caches.l3 >> 10);
}

}  // namespace planwright
