// The windows of a convolution over the input, as fast kernels see them: two spatial axes, the first of length 1 in a
// 1-D one.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_

#include "tactics/kernels/fast/gemm_job.h"
#include "tactics/kernels/kernel.h"

namespace planwright::fast {

struct ConvWindow {
  int64_t batch, channels, groups, filters;  // channels and filters of all groups
  int64_t input[2], output[2], kernel[2], stride[2], dilation[2], pad[2];
  int64_t x_batch, x_channel, x_strides[2];

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
  // One output channel an input channel, with a kernel that depthwise_f32 runs.
  bool is_depthwise() const { return channels == groups && filters == groups && kernel[0] <= 16 && kernel[1] <= 16; }
  // Whether some tap of some output lies outside the input.
  bool is_padded() const;
};

// Of a Conv or ConvTranspose that its reference kernel validates, with at most two spatial axes.
ConvWindow conv_window(const KernelArgs& args);

// GemmJob::row_pointers of a convolution: where a tap's channels start, a pixel of the input or zeros in the padding.
struct WindowRows {
  const ConvWindow* window;
  const std::byte* x;  // the group's first channel
  int64_t element_bytes;
  const std::byte* zeros;
};
// Of a convolution's arguments, `zeros` being as many as a group has channels.
WindowRows window_rows_of(const ConvWindow& window, const TensorView& x, int64_t group, const std::byte* zeros);
void window_rows(const void* context, RowCursor cursor, int count, const float** to);

// The strides of a convolution's output, with 1 along its channels: a single one lies wherever it lies.
void output_strides(const TensorView& y, int64_t strides[kMaxRank]);

// What every fast convolution, transposed or not, asks for, beyond what the operator does: at most two spatial axes,
// fp32 (or as `storage` says), the output's channels next to each other, an epilogue that the tier runs, at most 4,096
// taps.
Status validate_fast_conv(const KernelArgs& args, const GemmTier& tier, Storage storage = Storage::kFloat);

}  // namespace planwright::fast

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_CONV_WINDOW_H_
