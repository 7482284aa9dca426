#include "tactics/kernels/fast/gemm_matmul.h"

#include "tactics/kernels/fast/gemm_kernels.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

template <int kRows, int kVectors>
constexpr KernelDescriptor constant_kernel(const char* name) {
  return {
      .name = name,
      .revision = 1,
      .op = OpKind::kMatMul,
      .isa = PW_TIER_ISA,
      .packed_inputs = 1u << 1,
      .validate = [](const KernelArgs& args) { return fast::validate_matmul(args, kGemmShape<kRows, kVectors>); },
      .packed_size = [](const KernelArgs& args) { return fast::matmul_packed_size(args, kGemmShape<kRows, kVectors>); },
      .scratch_size =
          [](const KernelArgs& args) { return fast::matmul_scratch_size(args, kGemmShape<kRows, kVectors>); },
      .pack = [](const KernelArgs& args,
                 std::byte* to) { return fast::pack_matmul(args, kGemmShape<kRows, kVectors>, to); },
      .run = [](const KernelArgs& args) { return fast::run_matmul_constant(args, kGemmShape<kRows, kVectors>); },
      .tactics = [](const KernelArgs& args, TacticParams* list,
                    int capacity) { return fast::matmul_tactics(args, kGemmShape<kRows, kVectors>, list, capacity); },
  };
}

template <int kRows, int kVectors>
constexpr KernelDescriptor dynamic_kernel(const char* name) {
  KernelDescriptor kernel = constant_kernel<kRows, kVectors>(name);
  kernel.packed_inputs = 0;
  kernel.packed_size = nullptr;
  kernel.pack = nullptr;
  kernel.workspace_size = [](const KernelArgs& args) {
    return fast::matmul_packed_size(args, kGemmShape<kRows, kVectors>);
  };
  kernel.run = [](const KernelArgs& args) { return fast::run_matmul_dynamic(args, kGemmShape<kRows, kVectors>); };
  return kernel;
}

#define PW_TILE(rows, vectors)                                               \
  constant_kernel<rows, vectors>(PW_TILE_NAME("matmul_f32", rows, vectors)), \
      dynamic_kernel<rows, vectors>(PW_TILE_NAME("matmul_f32_dynamic", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {PW_GEMM_TILES};
#undef PW_TILE

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(matmul_f32)
