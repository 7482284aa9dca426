// Convolution of few channels, the first layer of most networks: any input strides (an NCHW binding is read as it is),
// at most 8 channels, one group. Each task copies the input rows it needs into scratch, padded and channels-last, where
// a row of the kernel is one run of kernel_width * channels floats: a 7x7 kernel over 3 channels is 7 taps of 21
// rather than 49 of 3. Weights are packed as in conv.h.
//
// Tactic: v[0] output rows of a task; 0: 8.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_FIRST_LAYER_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_FIRST_LAYER_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

Status validate_first_layer(const KernelArgs& args, const GemmShape& shape);
size_t first_layer_scratch_size(const KernelArgs& args, const GemmShape& shape);
int first_layer_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity);
Status run_first_layer(const KernelArgs& args, const GemmShape& shape);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_FIRST_LAYER_H_
