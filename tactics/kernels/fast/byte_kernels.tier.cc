// Contractions of bytes: of uint8 or int8 by constant int8, with sums in int32. What they share with those in fp32 is
// conv.cc and gemm_matmul.cc; the shape says which micro kernels run.
#include "tactics/kernels/fast/conv.h"
#include "tactics/kernels/fast/conv_image.h"
#include "tactics/kernels/fast/gemm_kernels.h"
#include "tactics/kernels/fast/gemm_matmul.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

#include "tactics/kernels/fast/byte_kernels.inc"

#if HWY_TARGET <= HWY_AVX3
#define PW_BYTE_TILE(name) PW_TILE_NAME(name, 12, 2)
constexpr int kRows = 12;
#else
#define PW_BYTE_TILE(name) PW_TILE_NAME(name, 4, 2)
constexpr int kRows = 4;
#endif
constexpr fast::GemmShape kShape = {&gemm_tier, kRows, kByteTileVectors, nullptr, &byte_tier};

constexpr KernelDescriptor kKernels[] = {
    conv_kernel<kShape>(PW_BYTE_TILE("conv_s8"), PW_TIER_ISA),
    image_kernel<kShape>(PW_BYTE_TILE("conv_s8_image"), PW_TIER_ISA),
    matmul_kernel<kShape>(PW_BYTE_TILE("matmul_s8"), PW_TIER_ISA),
};

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(contraction_s8)
