#include "tactics/kernels/fast/block_matmul.h"

#include "tactics/kernels/fast/gemm_kernels.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

using WideTag = hn::Rebind<int32_t, FloatTag>;
using WideVec = hn::Vec<WideTag>;
constexpr WideTag kWide;
constexpr hn::Rebind<uint8_t, FloatTag> kCodes;
constexpr hn::Rebind<int8_t, FloatTag> kBytes;

#if HWY_TARGET <= HWY_AVX3
alignas(64) constexpr float kNumbers[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
#endif

// The numbers that the two halves of each byte stand for.
struct Nibbles {
#if HWY_TARGET <= HWY_AVX3
  // A look-up goes by the low four bits of each lane and needs no And and no Sub.
  const FloatVec numbers = hn::Load(kF, kNumbers);
  HWY_INLINE FloatVec low(WideVec code) const { return FloatVec{_mm512_permutexvar_ps(code.raw, numbers.raw)}; }
  HWY_INLINE FloatVec high(WideVec code) const { return low(hn::ShiftRight<4>(code)); }
#else
  HWY_INLINE FloatVec low(WideVec code) const {
    return hn::ConvertTo(kF, hn::Sub(hn::And(code, hn::Set(kWide, 15)), hn::Set(kWide, 8)));
  }
  HWY_INLINE FloatVec high(WideVec code) const {
    return hn::ConvertTo(kF, hn::Sub(hn::ShiftRight<4>(code), hn::Set(kWide, 8)));
  }
#endif
};

HWY_INLINE WideVec load_codes(const uint8_t* from) { return hn::PromoteTo(kWide, hn::LoadU(kCodes, from)); }
HWY_INLINE FloatVec load_integers(const uint8_t* from) {
  return hn::ConvertTo(kF, hn::PromoteTo(kWide, hn::LoadU(kBytes, reinterpret_cast<const int8_t*>(from))));
}

// Calls body(scales, codes, first row, rows) for each block.
template <typename Body>
HWY_INLINE void for_each_block(const BlockPanel& panel, const Body& body) {
  const auto* at = reinterpret_cast<const uint8_t*>(panel.data);
  for (int64_t k = 0; k < panel.depth; k += panel.block) {
    const int64_t rows = panel.depth - k < panel.block ? panel.depth - k : panel.block;
    const auto* scales = reinterpret_cast<const float*>(at);
    at += panel.width * static_cast<int64_t>(sizeof(float));
    body(scales, at, k, rows);
    at += (panel.bits == 8 ? rows : (rows + 1) / 2) * panel.width;
  }
}

template <int kVectors>
void widen_columns(const BlockPanel& panel, float* to) {
  const Nibbles nibbles;
  for_each_block(panel, [&](const float* scales, const uint8_t* codes, int64_t first, int64_t rows) {
    FloatVec scale[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) scale[v] = hn::LoadU(kF, scales + v * kLanes);
    float* row = to + first * panel.width;
    if (panel.bits == 8) {
      for (int64_t k = 0; k < rows; ++k, codes += kVectors * kLanes, row += kVectors * kLanes) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          hn::StoreU(hn::Mul(load_integers(codes + v * kLanes), scale[v]), kF, row + v * kLanes);
        }
      }
      return;
    }
    for (int64_t k = 0; k < rows; k += 2, codes += kVectors * kLanes, row += 2 * kVectors * kLanes) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto code = load_codes(codes + v * kLanes);
        hn::StoreU(hn::Mul(nibbles.low(code), scale[v]), kF, row + v * kLanes);
        hn::StoreU(hn::Mul(nibbles.high(code), scale[v]), kF, row + (kVectors + v) * kLanes);
      }
    }
  });
}

// Two rows at a time, each with sums of its own: a block's sums wait for one another otherwise.
template <int kVectors>
void multiply_columns(const BlockPanel& panel, const float* a, float* sums) {
  const Nibbles nibbles;
  FloatVec total[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) total[v] = hn::Zero(kF);
  for_each_block(panel, [&](const float* scales, const uint8_t* codes, int64_t first, int64_t rows) {
    FloatVec even[kVectors], odd[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) even[v] = odd[v] = hn::Zero(kF);
    const float* x = a + first;
    int64_t k = 0;
    if (panel.bits == 8) {
      for (; k + 1 < rows; k += 2, codes += 2 * kVectors * kLanes) {
        const FloatVec x0 = hn::Set(kF, x[k]), x1 = hn::Set(kF, x[k + 1]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          even[v] = hn::MulAdd(x0, load_integers(codes + v * kLanes), even[v]);
          odd[v] = hn::MulAdd(x1, load_integers(codes + (kVectors + v) * kLanes), odd[v]);
        }
      }
      if (k < rows) {
        const FloatVec x0 = hn::Set(kF, x[k]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) even[v] = hn::MulAdd(x0, load_integers(codes + v * kLanes), even[v]);
      }
    } else {
      for (; k < rows; k += 2, codes += kVectors * kLanes) {
        const FloatVec x0 = hn::Set(kF, x[k]), x1 = hn::Set(kF, k + 1 < rows ? x[k + 1] : 0.0f);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const auto code = load_codes(codes + v * kLanes);
          even[v] = hn::MulAdd(x0, nibbles.low(code), even[v]);
          odd[v] = hn::MulAdd(x1, nibbles.high(code), odd[v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      total[v] = hn::MulAdd(hn::Add(even[v], odd[v]), hn::LoadU(kF, scales + v * kLanes), total[v]);
    }
  });
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::StoreU(total[v], kF, sums + v * kLanes);
}

void widen(const BlockPanel& panel, float* to) {
  switch (panel.width / kLanes) {
    case 1: return widen_columns<1>(panel, to);
    case 2: return widen_columns<2>(panel, to);
    case 3: return widen_columns<3>(panel, to);
    default: return widen_columns<4>(panel, to);
  }
}

void multiply(const BlockPanel& panel, const float* a, float* sums) {
  switch (panel.width / kLanes) {
    case 1: return multiply_columns<1>(panel, a, sums);
    case 2: return multiply_columns<2>(panel, a, sums);
    case 3: return multiply_columns<3>(panel, a, sums);
    default: return multiply_columns<4>(panel, a, sums);
  }
}

constexpr BlockTier kTier = {widen, multiply};

template <int kRows, int kVectors>
constexpr KernelDescriptor kernel(const char* name) {
  return {
      .name = name,
      .revision = 1,
      .op = OpKind::kBlockMatMul,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1 | 1u << 2,
      .validate = [](const KernelArgs& args) { return fast::validate_block_matmul(args, kGemmShape<kRows, kVectors>); },
      .packed_size =
          [](const KernelArgs& args) { return fast::block_matmul_packed_size(args, kGemmShape<kRows, kVectors>); },
      .scratch_size =
          [](const KernelArgs& args) { return fast::block_matmul_scratch_size(args, kGemmShape<kRows, kVectors>); },
      .pack = [](const KernelArgs& args,
                 std::byte* to) { return fast::pack_block_matmul(args, kGemmShape<kRows, kVectors>, to); },
      .run = [](const KernelArgs& args) { return fast::run_block_matmul(args, kGemmShape<kRows, kVectors>, &kTier); },
      .tactics =
          [](const KernelArgs& args, TacticParams* list, int capacity) {
            return fast::block_matmul_tactics(args, kGemmShape<kRows, kVectors>, list, capacity);
          },
  };
}

#define PW_TILE(rows, vectors) kernel<rows, vectors>(PW_TILE_NAME("block_matmul_f32", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {PW_GEMM_TILES};
#undef PW_TILE

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(block_matmul_f32)
