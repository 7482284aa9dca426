// MatMul: A[..., M, K] at any row stride, K contiguous, by B[..., K, N], which is either constant and packed by the
// builder or computed and packed into the workspace at the start of each run (any strides: a transposed K in attention
// scores is as good as any).
//
// Where B is one matrix, all rows of A, batch axes included, are the rows of one job; else each batch is a job.
//
// Tactic: v[0] row tiles and v[1] panels of a task (split_gemm).
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_MATMUL_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_MATMUL_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

Status validate_matmul(const KernelArgs& args, const GemmShape& shape);
// Of all of B's matrices: what the constant kernels have packed, the dynamic ones as workspace.
size_t matmul_packed_size(const KernelArgs& args, const GemmShape& shape);
size_t matmul_scratch_size(const KernelArgs& args, const GemmShape& shape);
Status pack_matmul(const KernelArgs& args, const GemmShape& shape, std::byte* destination);
int matmul_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity);
Status run_matmul_constant(const KernelArgs& args, const GemmShape& shape);
Status run_matmul_dynamic(const KernelArgs& args, const GemmShape& shape);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_GEMM_MATMUL_H_
