// Transposed convolution to one channel with a kernel as large as its stride, so that each input pixel makes a patch of
// the output alone: the last layer of text detectors. A pixel's patch is its channels times a matrix of few columns,
// one a tap; the patches of a row of pixels are put aside in L1 as rows of the output, where an epilogue finds whole
// vectors. On one core of an AVX-512 CPU, 24 channels of 320x320 to 640x640 with a sigmoid took 6.5 ms phase by phase
// with conv_transpose_f32_dot, whose tiles are of eight outputs that do not lie side by side.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_SINGLE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_SINGLE_H_

#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright {

inline constexpr int kPatchColumns = 4;  // that are computed at once
inline constexpr int kMostPatchColumns = 16;

// The patches of `count` pixels, `step` floats apart: column i of pixel p goes to to[i][p * to_step].
struct PatchRow {
  const float* x;
  int64_t step, count, channels;
  const float* weights;  // [columns / kPatchColumns][kPatchColumns][depth], zeros where depth is more than `channels`
  int64_t depth;         // a multiple of kMaxLanes
  int columns;           // without those that fill the last kPatchColumns
  float* to[kMostPatchColumns];
  int64_t to_step;
};

struct PatchTier {
  const GemmTier* gemm;  // of its epilogues
  void (*make_patches)(const PatchRow& row);
};

namespace tier_baseline {
extern const PatchTier patch_tier;
}
namespace tier_avx2 {
extern const PatchTier patch_tier;
}
namespace tier_avx512 {
extern const PatchTier patch_tier;
}

namespace fast {

Status validate_conv_transpose_single(const KernelArgs& args, const PatchTier& tier);
size_t conv_transpose_single_packed_size(const KernelArgs& args);
size_t conv_transpose_single_scratch_size(const KernelArgs& args);
Status pack_conv_transpose_single(const KernelArgs& args, std::byte* destination);
Status run_conv_transpose_single(const KernelArgs& args, const PatchTier& tier);

}  // namespace fast
}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_TRANSPOSE_SINGLE_H_
