// Floats as integers in the same order: minima and maxima of integers depend on no order of their operands, where those
// of floats do for -0 and NaN, and compilers vectorise them.
#ifndef PLANWRIGHT_CALIBRATOR_FLOAT_BITS_H_
#define PLANWRIGHT_CALIBRATOR_FLOAT_BITS_H_

#include <bit>
#include <cstdint>

namespace planwright::calibrator {

inline constexpr uint32_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000;

inline uint32_t magnitude_bits(float value) { return std::bit_cast<uint32_t>(value) & kMagnitude; }

// Of a value that is not NaN: ordered as the values are, -0 just below 0.
inline int32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits ^ static_cast<int32_t>(static_cast<uint32_t>(bits >> 31) >> 1);
}
inline float value_of_ordered(int32_t bits) {
  return std::bit_cast<float>(bits ^ static_cast<int32_t>(static_cast<uint32_t>(bits >> 31) >> 1));
}

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_FLOAT_BITS_H_
