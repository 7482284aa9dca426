// The windows of a convolution over the input, as fast kernels see them: two spatial axes, the first of length 1 in a
// 1-D one.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_

#include "tactics/kernels/fast/gemm_tile.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

struct ConvWindow {
  int64_t batch, channels, groups, filters;  // channels and filters of all groups
  int64_t input[2], output[2], kernel[2], stride[2], dilation[2], pad[2];
  int64_t x_batch, x_channel, x_strides[2];
  int64_t y_batch, y_channel, y_strides[2];

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
  // Whether some tap of some output lies outside the input.
  bool is_padded() const;
};

// Of a Conv that reference_kernel(kConv) validates with at most two spatial axes.
ConvWindow conv_window(const KernelArgs& args);

// What every fast fp32 convolution asks for, beyond what the operator does: at most two spatial axes, fp32, the
// output's channels next to each other, an epilogue that the tier runs, at most 4,096 taps.
Status validate_fast_conv(const KernelArgs& args, const GemmTier& tier);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_
