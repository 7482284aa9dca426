// Transposed convolution in one or two spatial axes. With stride s, the output positions that leave remainder r when
// padding is added and s divided out meet the taps of that remainder only, at input positions next to each other: each
// of these phases is a small convolution of stride 1, written to every s-th output. With a 2x2 kernel of stride 2 that
// is four matrix products.
//
// Weights are packed phase by phase (by remainder, so whatever the padding), in each group. Tactic: as in conv.h.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

Status validate_conv_transpose(const KernelArgs& args, const GemmShape& shape);
size_t conv_transpose_packed_size(const KernelArgs& args, const GemmShape& shape);
size_t conv_transpose_scratch_size(const KernelArgs& args, const GemmShape& shape);
Status pack_conv_transpose(const KernelArgs& args, const GemmShape& shape, std::byte* destination);
Status run_conv_transpose(const KernelArgs& args, const GemmShape& shape);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_H_
