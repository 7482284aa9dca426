// As byte_kernels.tier.cc, for CPUs with AVX512-VNNI.
#include "tactics/kernels/fast/conv.h"
#include "tactics/kernels/fast/conv_image.h"
#include "tactics/kernels/fast/gemm_matmul.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

#include "tactics/kernels/fast/byte_kernels.inc"

constexpr fast::GemmShape kShape = {&tier_avx512::gemm_tier, kByteTileRows, kByteTileVectors, nullptr,
                                    &tier_avx512vnni::byte_tier};

constexpr KernelDescriptor kKernels[] = {
    conv_kernel<kShape>("conv_s8_12x2_avx512vnni", Isa::kAvx512Vnni),
    image_kernel<kShape>("conv_s8_image_12x2_avx512vnni", Isa::kAvx512Vnni),
    matmul_kernel<kShape>("matmul_s8_12x2_avx512vnni", Isa::kAvx512Vnni),
};

}  // namespace

extern const KernelTable byte_table;
const KernelTable byte_table = {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};

}  // namespace planwright
