// Contractions in bf16: of fp32 operands, weights packed as bf16, activations rounded on the way, sums in fp32. What
// they share with those in fp32 is conv.cc and gemm_matmul.cc; the shape says which micro kernels run.
#include "tactics/kernels/fast/block_matmul.h"
#include "tactics/kernels/fast/conv.h"
#include "tactics/kernels/fast/conv_image.h"
#include "tactics/kernels/fast/conv_transpose.h"
#include "tactics/kernels/fast/first_layer.h"
#include "tactics/kernels/fast/gemm_matmul.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

constexpr fast::GemmShape kAmx = {&tier_avx512::gemm_tier, 32, kHalfTileVectors, &tier_amx::half_tier};
constexpr fast::GemmShape kAvx512 = {&tier_avx512::gemm_tier, 12, kHalfTileVectors, &tier_avx512vnni::half_tier};

// What all of them have in common.
constexpr KernelDescriptor half_kernel(const char* name, OpKind op, Isa isa) {
  KernelDescriptor kernel;
  kernel.name = name;
  kernel.op = op;
  kernel.isa = isa;
  kernel.packed_inputs = 1u << 1;
  kernel.precision = Precision::kBf16;
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor conv_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = half_kernel(name, OpKind::kConv, isa);
  kernel.validate = [](const KernelArgs& args) { return fast::validate_conv(args, kShape); };
  kernel.packed_size = [](const KernelArgs& args) { return fast::conv_packed_size(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::conv_scratch_size(args, kShape); };
  kernel.pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_conv(args, kShape, to); };
  kernel.run = [](const KernelArgs& args) { return fast::run_conv(args, kShape); };
  kernel.tactics = [](const KernelArgs& args, TacticParams* list, int capacity) {
    return fast::conv_tactics(args, kShape, list, capacity);
  };
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor first_layer_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = conv_kernel<kShape>(name, isa);
  kernel.validate = [](const KernelArgs& args) { return fast::validate_first_layer(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::first_layer_scratch_size(args, kShape); };
  kernel.run = [](const KernelArgs& args) { return fast::run_first_layer(args, kShape); };
  kernel.tactics = [](const KernelArgs& args, TacticParams* list, int capacity) {
    return fast::first_layer_tactics(args, kShape, list, capacity);
  };
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor image_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = half_kernel(name, OpKind::kConv, isa);
  kernel.validate = [](const KernelArgs& args) { return fast::validate_conv_image(args, kShape); };
  kernel.packed_size = [](const KernelArgs& args) { return fast::conv_image_packed_size(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::conv_image_scratch_size(args, kShape); };
  kernel.pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_conv_image(args, kShape, to); };
  kernel.run = [](const KernelArgs& args) { return fast::run_conv_image(args, kShape); };
  kernel.tactics = [](const KernelArgs& args, TacticParams* list, int capacity) {
    return fast::conv_image_tactics(args, kShape, list, capacity);
  };
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor conv_transpose_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = half_kernel(name, OpKind::kConvTranspose, isa);
  kernel.validate = [](const KernelArgs& args) { return fast::validate_conv_transpose(args, kShape); };
  kernel.packed_size = [](const KernelArgs& args) { return fast::conv_transpose_packed_size(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::conv_transpose_scratch_size(args, kShape); };
  kernel.pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_conv_transpose(args, kShape, to); };
  kernel.run = [](const KernelArgs& args) { return fast::run_conv_transpose(args, kShape); };
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor matmul_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = half_kernel(name, OpKind::kMatMul, isa);
  kernel.validate = [](const KernelArgs& args) { return fast::validate_matmul(args, kShape); };
  kernel.packed_size = [](const KernelArgs& args) { return fast::matmul_packed_size(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::matmul_scratch_size(args, kShape); };
  kernel.pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_matmul(args, kShape, to); };
  kernel.run = [](const KernelArgs& args) { return fast::run_matmul_constant(args, kShape); };
  kernel.tactics = [](const KernelArgs& args, TacticParams* list, int capacity) {
    return fast::matmul_tactics(args, kShape, list, capacity);
  };
  return kernel;
}

template <const fast::GemmShape& kShape>
constexpr KernelDescriptor block_matmul_kernel(const char* name, Isa isa) {
  KernelDescriptor kernel = half_kernel(name, OpKind::kBlockMatMul, isa);
  kernel.packed_inputs = 1u << 1 | 1u << 2;
  kernel.validate = [](const KernelArgs& args) { return fast::validate_block_matmul(args, kShape); };
  kernel.packed_size = [](const KernelArgs& args) { return fast::block_matmul_packed_size(args, kShape); };
  kernel.scratch_size = [](const KernelArgs& args) { return fast::block_matmul_scratch_size(args, kShape); };
  kernel.pack = [](const KernelArgs& args, std::byte* to) { return fast::pack_block_matmul(args, kShape, to); };
  kernel.run = [](const KernelArgs& args) { return fast::run_block_matmul(args, kShape, nullptr); };
  kernel.tactics = [](const KernelArgs& args, TacticParams* list, int capacity) {
    return fast::block_matmul_tactics(args, kShape, list, capacity);
  };
  return kernel;
}

constexpr KernelDescriptor kKernels[] = {
    image_kernel<kAmx>("conv_bf16_image_32x2_amx", Isa::kAmx),
    first_layer_kernel<kAmx>("first_layer_bf16_32x2_amx", Isa::kAmx),
    conv_kernel<kAmx>("conv_bf16_32x2_amx", Isa::kAmx),
    conv_transpose_kernel<kAmx>("conv_transpose_bf16_32x2_amx", Isa::kAmx),
    matmul_kernel<kAmx>("matmul_bf16_32x2_amx", Isa::kAmx),
    block_matmul_kernel<kAmx>("block_matmul_bf16_32x2_amx", Isa::kAmx),
    image_kernel<kAvx512>("conv_bf16_image_12x2_avx512vnni", Isa::kAvx512Vnni),
    first_layer_kernel<kAvx512>("first_layer_bf16_12x2_avx512vnni", Isa::kAvx512Vnni),
    conv_kernel<kAvx512>("conv_bf16_12x2_avx512vnni", Isa::kAvx512Vnni),
    conv_transpose_kernel<kAvx512>("conv_transpose_bf16_12x2_avx512vnni", Isa::kAvx512Vnni),
    matmul_kernel<kAvx512>("matmul_bf16_12x2_avx512vnni", Isa::kAvx512Vnni),
    block_matmul_kernel<kAvx512>("block_matmul_bf16_12x2_avx512vnni", Isa::kAvx512Vnni),
};

}  // namespace

extern const KernelTable half_table;
const KernelTable half_table = {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};

}  // namespace planwright
