// Convolution in one or two spatial axes as an indirect matrix product: channels-last input and output at any pixel
// strides (so parts of a concatenation are fine), weights packed in panels, padding through a row of zeros. The plain
// half of the kernels that conv.tier.cc lists, each for its tile.
//
// Tactic: v[0] row tiles and v[1] panels of a task (split_gemm).
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

Status validate_conv(const KernelArgs& args, const GemmShape& shape);
size_t conv_packed_size(const KernelArgs& args, const GemmShape& shape);
size_t conv_scratch_size(const KernelArgs& args, const GemmShape& shape);
Status pack_conv(const KernelArgs& args, const GemmShape& shape, std::byte* destination);
int conv_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity);
Status run_conv(const KernelArgs& args, const GemmShape& shape);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_H_
