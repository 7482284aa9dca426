// BlockMatMul: A[..., M, K] at any row stride, K contiguous, by a constant matrix of integers with a scale for each
// block of rows. All rows of A, batch axes included, are the rows of one job.
//
// Packed in fp32: panel after panel (gemm_panel.h), each block after block: a scale for each column, then the integers
// row after row, of int4 two rows in a byte (the first in the low half, 8 added, so that codes are 0 to 15). Of one row
// of A the integers are multiplied as they are read; of more, a panel is made floats at a time and the micro kernels of
// other products run on it. In bf16 the packed form is that of all products.
//
// Tactic: v[0] row tiles and v[1] panels of a task; 0: all tiles, and one panel (in bf16 as split_gemm has it).
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_MATMUL_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_MATMUL_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright {

// What a product by blocks of integers is of.
struct BlockProduct {
  int64_t depth, columns, block;
  int bits;  // 4 or 8

  explicit BlockProduct(const KernelArgs& args)
      : depth(args.inputs[1].dims[0]),
        columns(args.inputs[1].dims[1]),
        block(args.params_as<BlockMatMulParams>().block),
        bits(args.inputs[1].dtype == DType::kI4 ? 4 : 8) {
    if (block > depth) block = depth > 0 ? depth : 1;
  }

  int64_t blocks() const { return depth / block + (depth % block != 0 ? 1 : 0); }
  int64_t rows_of(int64_t index) const {
    const int64_t left = depth - index * block;
    return left < block ? left : block;
  }
};

// A packed panel.
struct BlockPanel {
  const std::byte* data;
  int bits;  // 4 or 8
  int64_t depth, block;
  int width;  // columns, whole vectors
};

// What a tier does with it.
struct BlockTier {
  // Makes it floats, rows `width` apart. Writes up to one row behind the last.
  void (*widen)(const BlockPanel& panel, float* to);
  // sums[j] = sum over k of a[k] * panel[k][j].
  void (*multiply)(const BlockPanel& panel, const float* a, float* sums);
};

}  // namespace planwright

namespace planwright::fast {

Status validate_block_matmul(const KernelArgs& args, const GemmShape& shape);
size_t block_matmul_packed_size(const KernelArgs& args, const GemmShape& shape);
size_t block_matmul_scratch_size(const KernelArgs& args, const GemmShape& shape);
// Writes the scales of block `index`, one for each column of the panel and zeros for its padding; returns what is behind.
std::byte* pack_block_scales(const KernelArgs& args, const PanelPlan& panels, int64_t panel, int64_t index,
                             std::byte* to);
Status pack_block_matmul(const KernelArgs& args, const GemmShape& shape, std::byte* destination);
int block_matmul_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity);
// `tier`: null where the shape's products are in bf16.
Status run_block_matmul(const KernelArgs& args, const GemmShape& shape, const BlockTier* tier);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_BLOCK_MATMUL_H_
