#include "tactics/kernels/fast/attention.h"

#include "tactics/kernels/fast/gemm_kernels.h"
#include "tactics/kernels/fast/vector_math.h"

namespace planwright {
namespace PW_TIER_NAMESPACE {
namespace {

float softmax_row(float* scores, int64_t count, float scale, float softcap, const float* mask) {
  const FloatVec factor = hn::Set(kF, scale), cap = hn::Set(kF, softcap);
  const FloatVec lowest = hn::Set(kF, -__builtin_inff());
  FloatVec most = lowest;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int valid = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    FloatVec x = hn::Mul(hn::LoadU(kF, scores + i), factor);
    if (softcap != 0.0f) x = hn::Mul(cap, vector_tanh(hn::Div(x, cap)));
    if (mask != nullptr) x = hn::Add(x, valid == kLanes ? hn::LoadU(kF, mask + i) : load_n(mask + i, valid));
    if (valid < kLanes) x = hn::IfThenElse(hn::FirstN(kF, static_cast<size_t>(valid)), x, lowest);
    most = hn::Max(most, x);
    hn::StoreU(x, kF, scores + i);
  }
  const FloatVec max = hn::MaxOfLanes(kF, most);
  FloatVec sum = hn::Zero(kF);
  for (int64_t i = 0; i < count; i += kLanes) {
    const FloatVec x = vector_exp_of_negative(hn::Sub(hn::LoadU(kF, scores + i), max));
    hn::StoreU(x, kF, scores + i);
    sum = hn::Add(sum, x);
  }
  return hn::GetLane(hn::SumOfLanes(kF, sum));
}

void scale_tile(const float* sums, int64_t pitch, int rows, int columns, const float* factors, float* const* out,
                int64_t column) {
  for (int r = 0; r < rows; ++r) {
    const FloatVec factor = hn::Set(kF, factors[r]);
    for (int j = 0; j < columns; j += kLanes) {
      const FloatVec x = hn::Mul(hn::LoadU(kF, sums + r * pitch + j), factor);
      float* to = out[r] + column + j;
      if (columns - j >= kLanes) {
        hn::StoreU(x, kF, to);
      } else {
        store_n(x, to, columns - j);
      }
    }
  }
}

constexpr fast::AttentionTier kTier = {softmax_row, scale_tile};

template <int kRows, int kVectors>
constexpr KernelDescriptor attention_kernel(const char* name) {
  return {
      .name = name,
      .revision = 2,
      .op = OpKind::kAttention,
      .isa = PW_TIER_ISA,
      .validate = [](const KernelArgs& args) { return fast::validate_attention(args, kGemmShape<kRows, kVectors>); },
      .workspace_size =
          [](const KernelArgs& args) { return fast::attention_workspace_size(args, kGemmShape<kRows, kVectors>); },
      .scratch_size =
          [](const KernelArgs& args) { return fast::attention_scratch_size(args, kGemmShape<kRows, kVectors>); },
      .run = [](const KernelArgs& args) { return fast::run_attention(args, kGemmShape<kRows, kVectors>, kTier); },
  };
}

#define PW_TILE(rows, vectors) attention_kernel<rows, vectors>(PW_TILE_NAME("attention_f32", rows, vectors)),
constexpr KernelDescriptor kKernels[] = {PW_GEMM_TILES};
#undef PW_TILE

}  // namespace
}  // namespace PW_TIER_NAMESPACE
}  // namespace planwright

PW_EXPORT_KERNELS(attention_f32)
