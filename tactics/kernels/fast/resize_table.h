// Where Resize reads, found once for each output row, column and slice rather than for each element.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_RESIZE_TABLE_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_RESIZE_TABLE_H_

#include "tactics/kernels/kernel.h"

namespace planwright {

// Taps of all output positions along one spatial axis, `taps` a position; those that are not needed have weight 0.
struct ResizeAxis {
  int64_t length = 1;                // of the output
  int64_t stride = 0;                // of the output
  int taps = 1;                      // 1 for nearest, 2 for linear, 4 for cubic
  const int64_t* offsets = nullptr;  // of the input element, in elements
  const float* weights = nullptr;
};

// Always three axes, the missing ones in front: of one position that reads element 0.
struct ResizeTable {
  static constexpr int kAxes = kMaxSpatial;
  ResizeAxis axes[kAxes];
};

// Whether a kernel that works with tables, one vector of channels at a time, can do it: channels contiguous, batch and
// channels not resized, no antialiasing (any number of taps), nothing extrapolated.
Status validate_resize_table(const KernelArgs& args);

// Bytes for the table of validated arguments.
size_t resize_table_size(const KernelArgs& args);

// Builds it in `memory`, which must be 8-byte aligned.
ResizeTable make_resize_table(const KernelArgs& args, std::byte* memory);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_RESIZE_TABLE_H_
