// From ranges to scales and zero points.
#ifndef PLANWRIGHT_CALIBRATOR_QUANTIZATION_H_
#define PLANWRIGHT_CALIBRATOR_QUANTIZATION_H_

#include "calibrator/range.h"

namespace planwright::calibrator {

// A level q stands for the value (q - zero) * scale. The scale is a normal number, and 0 has a level of its own.
struct Quantization {
  float scale = 1;
  int32_t zero = 0;
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// Levels of int8 from -127 to 127 for the values from -threshold to threshold. Where that is nothing, or too little for
// a scale that can be divided by, the scale is 1.
Quantization quantize_symmetric(float threshold);

// Levels of uint8 for the values of `range` that the threshold leaves, and 0. The scale is 1 where those have no width,
// as for DynamicQuantizeLinear.
Quantization quantize_asymmetric(const Range& range, float threshold);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_QUANTIZATION_H_
