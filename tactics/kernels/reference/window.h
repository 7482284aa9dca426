// The geometry of a window that slides along one axis.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WINDOW_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WINDOW_H_

#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

struct Window {
  int64_t kernel, stride, dilation, pad_begin, pad_end;
};

// Checks that the window makes sense and that no position computed from it can overflow.
inline Status validate_window(OpKind op, int axis, const Window& window, int64_t input, int64_t output) {
  // Products of two such numbers, and sums of a few of them, fit into int64.
  constexpr int64_t kMost = int64_t{1} << 30;
  PW_REQUIRE(window.kernel >= 1 && window.kernel <= kMost && window.stride >= 1 && window.stride <= kMost &&
                 window.dilation >= 1 && window.dilation <= kMost,
             "%s: kernel %ld, stride %ld, dilation %ld along spatial axis %d are out of range", name_of(op),
             window.kernel, window.stride, window.dilation, axis);
  PW_REQUIRE(
      window.pad_begin >= -kMost && window.pad_begin <= kMost && window.pad_end >= -kMost && window.pad_end <= kMost,
      "%s: padding %ld and %ld along spatial axis %d is out of range", name_of(op), window.pad_begin, window.pad_end,
      axis);
  PW_REQUIRE(input <= kMost && output <= kMost, "%s: spatial axis %d is out of range, %ld to %ld", name_of(op), axis,
             input, output);
  return kOkStatus;
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WINDOW_H_
