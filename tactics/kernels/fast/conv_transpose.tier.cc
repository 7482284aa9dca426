#include "tactics/kernels/fast/conv_transpose.h"

#include "tactics/kernels/fast/conv_transpose_single.h"
#include "tactics/kernels/fast/gemm_kernels.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

template <int kRows, int kVectors>
constexpr KernelDescriptor conv_transpose_kernel(const char* name) {
  return {
      .name = name,
      .revision = 1,
      .op = OpKind::kConvTranspose,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1,
      .validate =
          [](const KernelArgs& args) { return fast::validate_conv_transpose(args, kGemmShape<kRows, kVectors>); },
      .packed_size =
          [](const KernelArgs& args) { return fast::conv_transpose_packed_size(args, kGemmShape<kRows, kVectors>); },
      .scratch_size =
          [](const KernelArgs& args) { return fast::conv_transpose_scratch_size(args, kGemmShape<kRows, kVectors>); },
      .pack = [](const KernelArgs& args,
                 std::byte* to) { return fast::pack_conv_transpose(args, kGemmShape<kRows, kVectors>, to); },
      .run = [](const KernelArgs& args) { return fast::run_conv_transpose(args, kGemmShape<kRows, kVectors>); },
  };
}

constexpr KernelDescriptor kSingle = {
    .name = "conv_transpose_f32_single_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kConvTranspose,
    .isa = PW_TIER_ISA,
    .packed_inputs = 1u << 1,
    .validate = [](const KernelArgs& args) { return fast::validate_conv_transpose_single(args, patch_tier); },
    .packed_size = fast::conv_transpose_single_packed_size,
    .scratch_size = fast::conv_transpose_single_scratch_size,
    .pack = fast::pack_conv_transpose_single,
    .run = [](const KernelArgs& args) { return fast::run_conv_transpose_single(args, patch_tier); },
};

#define PW_TILE(rows, vectors) conv_transpose_kernel<rows, vectors>(PW_TILE_NAME("conv_transpose_f32", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {kSingle,
                                         PW_GEMM_TILES conv_transpose_kernel<8, 0>(PW_DOT_NAME("conv_transpose_f32"))};
#undef PW_TILE

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(conv_transpose_f32)
