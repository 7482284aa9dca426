// Depthwise convolution, channels-last: one output channel an input channel, one or two spatial axes.
//
// A vector holds channels. A block is kBlockPixels neighbouring output pixels of one row: each input vector is loaded
// once and used by every output pixel whose window it is in, so that a 3-wide kernel at stride 1 makes 24 multiply-adds
// of 10 input loads and 3 weight loads. Kernel rows outside the image are left out. Columns outside point at zeros
// through a table of pointers, which only the blocks at the borders need.
//
// Weights are packed as [taps][channels padded to whole vectors]. Tactic: v[0] output rows of a task; 0: by estimate.
//
// Bytes (uint8 by int8) become floats as they are loaded, and so do weights when they are packed: sums of at most 256
// products less the zero point's share are integers below 2^24, which fp32 holds whatever the order, and whether or not
// a multiply-add rounds in between. They are put aside as int32 for the epilogue of bytes (byte_tile.h).
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_DEPTHWISE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_DEPTHWISE_H_

#include "tactics/kernels/fast/byte_tile.h"
#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

inline constexpr int kBlockPixels = 8;

// A block of output pixels over a range of channels, as a tier computes it.
struct DepthwiseBlock {
  // The kernel rows that lie inside the image, in units of the input's elements (addresses of bytes are carried as if
  // of floats): row r at lines[r] (its first column's pixel, where all columns lie inside) or, at borders, column i of
  // it at columns[r * column_count + i].
  int first_row, last_row;
  const float* const* lines;
  int64_t pixel_stride;
  const float* const* columns;  // null: no border
  int column_count;
  int kernel_width;
  const float* weights;
  int64_t padded_channels;
  int64_t first_channel, last_channel;
  int pixels;
  float* const* out;          // [pixels], where channel 0 of each goes; of bytes int32, in whole vectors
  const float* start;         // of bytes: what sums begin with for each kernel row: [rows][padded_channels]
  const float* bias;          // [padded_channels], or null
  TileActivation activation;  // one that runs in registers
};

struct DepthwiseTier {
  const GemmTier* gemm;
  const ByteSupport* bytes;  // null: of floats
  // For kernels 3 and 5 wide at stride 1 and 2 ([(width - 3) / 2][stride - 1]), columns from left to right.
  void (*fixed[2][2])(const DepthwiseBlock& block);
  // For any other: columns[r * column_count + k * kBlockPixels + p] is what tap k of pixel p meets.
  void (*general)(const DepthwiseBlock& block);
};

Status validate_depthwise(const KernelArgs& args, const DepthwiseTier& tier);
size_t depthwise_packed_size(const KernelArgs& args, const DepthwiseTier& tier);
size_t depthwise_scratch_size(const KernelArgs& args, const DepthwiseTier& tier);
Status pack_depthwise(const KernelArgs& args, const DepthwiseTier& tier, std::byte* destination);
int depthwise_tactics(const KernelArgs& args, TacticParams* list, int capacity);
Status run_depthwise(const KernelArgs& args, const DepthwiseTier& tier);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_DEPTHWISE_H_
