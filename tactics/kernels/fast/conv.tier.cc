#include "tactics/kernels/fast/conv.h"

#include "tactics/kernels/fast/gemm_kernels.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

template <int kRows, int kVectors>
constexpr KernelDescriptor conv_kernel(const char* name) {
  return {
      .name = name,
      .revision = 1,
      .op = OpKind::kConv,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1,
      .validate = [](const KernelArgs& args) { return fast::validate_conv(args, kGemmShape<kRows, kVectors>); },
      .packed_size = [](const KernelArgs& args) { return fast::conv_packed_size(args, kGemmShape<kRows, kVectors>); },
      .scratch_size = [](const KernelArgs& args) { return fast::conv_scratch_size(args, kGemmShape<kRows, kVectors>); },
      .pack = [](const KernelArgs& args,
                 std::byte* to) { return fast::pack_conv(args, kGemmShape<kRows, kVectors>, to); },
      .run = [](const KernelArgs& args) { return fast::run_conv(args, kGemmShape<kRows, kVectors>); },
      .tactics = [](const KernelArgs& args, TacticParams* list,
                    int capacity) { return fast::conv_tactics(args, kGemmShape<kRows, kVectors>, list, capacity); },
  };
}

#define PW_TILE(rows, vectors) conv_kernel<rows, vectors>(PW_TILE_NAME("conv_f32", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {PW_GEMM_TILES conv_kernel<8, 0>(PW_DOT_NAME("conv_f32"))};
#undef PW_TILE

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(conv_f32)
