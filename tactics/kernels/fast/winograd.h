// Convolution with 3x3 kernels of stride 1 by Winograd's minimal filtering: a tile of m x m outputs takes (m + 2)^2
// multiplications a channel and filter instead of 9 m^2, which is 2.25 times fewer for m = 2 and 4 times for m = 4.
// Tiles of the input and the weights are transformed; each of the (m + 2)^2 positions is a matrix product of its own
// over the tiles; what comes out is transformed back and goes through the epilogue. The plain half of the kernels that
// winograd.tier.cc lists.
//
// Transformed numbers are sums of products, so results differ from a plain convolution's by roundings of the largest
// input under a tile: 1.8 times its error for m = 4, measured on normally distributed data, and less than it for m = 2.
// An infinity or NaN can make other outputs of its tile NaN.
//
// Tactic: v[0] tiles of a block (0: by estimate). v[1] is 0: a task transforms and multiplies its block. Else workers
// share each block's transformed input, and a task multiplies it by v[1] panels.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_WINOGRAD_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_WINOGRAD_H_

#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright {

inline constexpr int kMostWinogradOutputs = 4;  // m

// to[position * step + c] = the transform of pixels[.][c], for `channels` c; whole vectors are written.
struct WinogradInput {
  const float* const* pixels;  // [(m + 2)^2], row-major: where the pixel's channels start
  int64_t channels;
  float* to;
  int64_t step;
};

// to[(y * columns + x) * width + j] = the transform back of from[. * step + j], for the first rows x columns outputs.
struct WinogradOutput {
  const float* from;
  int64_t step;
  int64_t width;  // a multiple of the lanes
  int rows, columns;
  float* to;
};

// What one tier provides, [0] for m = 2 and [1] for m = 4.
struct WinogradTier {
  const GemmTier* gemm;
  void (*input[2])(const WinogradInput& tile);
  void (*output[2])(const WinogradOutput& tile);
};

namespace fast {

struct WinogradShape {
  const WinogradTier* tier;
  int outputs;  // m
  int rows, vectors;
};

Status validate_winograd(const KernelArgs& args, const WinogradShape& shape);
size_t winograd_packed_size(const KernelArgs& args, const WinogradShape& shape);
size_t winograd_workspace_size(const KernelArgs& args, const WinogradShape& shape);
size_t winograd_scratch_size(const KernelArgs& args, const WinogradShape& shape);
Status pack_winograd(const KernelArgs& args, const WinogradShape& shape, std::byte* destination);
int winograd_tactics(const KernelArgs& args, const WinogradShape& shape, TacticParams* list, int capacity);
Status run_winograd(const KernelArgs& args, const WinogradShape& shape);

}  // namespace fast
}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_WINOGRAD_H_
