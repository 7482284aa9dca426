// Convolutions in bf16 or of bytes over a padded copy of the image: windows overlap in it, so that tiles read them
// where they lie, each tap (or row of taps) at an offset of its own, and nothing is copied nine times for a 3x3 kernel.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_IMAGE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_IMAGE_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

Status validate_conv_image(const KernelArgs& args, const GemmShape& shape);
size_t conv_image_packed_size(const KernelArgs& args, const GemmShape& shape);
size_t conv_image_scratch_size(const KernelArgs& args, const GemmShape& shape);
Status pack_conv_image(const KernelArgs& args, const GemmShape& shape, std::byte* destination);
// v[0]: output rows of a task, v[1]: panels of a task; 0: by estimate.
int conv_image_tactics(const KernelArgs& args, const GemmShape& shape, TacticParams* list, int capacity);
Status run_conv_image(const KernelArgs& args, const GemmShape& shape);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_IMAGE_H_
