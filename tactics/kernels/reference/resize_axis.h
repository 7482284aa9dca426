// One axis of Resize: from which input elements, with which weights, an output element is made. Every kernel takes them
// from here, so that all read the same elements.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_RESIZE_AXIS_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_RESIZE_AXIS_H_

#include <cstdint>

#include "tactics/kernels/params.h"

namespace planwright::reference {

// One axis at one output position.
struct Taps {
  int64_t first = 0;  // input index of tap 0; may lie outside, where the edge is repeated
  int64_t count = 1;
  double ratio = 1;  // where between taps count/2-1 and count/2 the coordinate lies, in (0, 1]
  double sum = 1;    // of the weights
  bool extrapolated = false;
};

// Output elements per input element.
double scale_of(const ResizeParams& params, int axis, int64_t in, int64_t out);

// Of output index `index` of an axis of `in` > 0 input and `out` > 0 output elements.
Taps taps_at(const ResizeParams& params, int axis, int64_t index, int64_t in, int64_t out);

// The input index of a tap.
int64_t index_of(const Taps& taps, int64_t tap, int64_t in);

// The weight of tap `tap`, before they are made to sum to 1.
double weight(const ResizeParams& params, const Taps& taps, int64_t tap, double scale, int64_t in);

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_RESIZE_AXIS_H_
