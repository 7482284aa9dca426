// Scaled dot-product attention that never writes the S x T matrix: for a tile of query rows at a time, the scores of
// one row each in scratch, softmax on them there, and their product with V. K and V of every key head are packed into
// panels first (in the workspace), so their strides do not matter.
//
// Tactic: v[0] tiles of query rows of a task; 0: by estimate.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_ATTENTION_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_ATTENTION_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

// What a tier adds to the micro kernels.
struct AttentionTier {
  // Turns `count` scores of a row into exp(x - max x), where x = scale * score, softcap * tanh(x / softcap) unless
  // softcap is 0, plus mask (contiguous; null: none), and returns the sum. `scores` is padded to whole vectors, which
  // become 0 past `count`. `count` > 0.
  float (*softmax_row)(float* scores, int64_t count, float scale, float softcap, const float* mask);
  // out[r][column + j] = sums[r * pitch + j] * factors[r] for j < columns.
  void (*scale_tile)(const float* sums, int64_t pitch, int rows, int columns, const float* factors, float* const* out,
                     int64_t column);
};

Status validate_attention(const KernelArgs& args, const GemmShape& shape);
size_t attention_workspace_size(const KernelArgs& args, const GemmShape& shape);
size_t attention_scratch_size(const KernelArgs& args, const GemmShape& shape);
Status run_attention(const KernelArgs& args, const GemmShape& shape, const AttentionTier& tier);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_ATTENTION_H_
