// Conversions between float and the two 16-bit floating types, held as their bits. Round to nearest even; NaN stays
// NaN.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_HALF_H_
#define PLANWRIGHT_SCHEMAS_TYPES_HALF_H_

#include <cstdint>

namespace planwright {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline float float_of_bf16(uint16_t bits) { return float_of_bits(static_cast<uint32_t>(bits) << 16); }

inline uint16_t bf16_of_float(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // a quiet NaN
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline float float_of_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero or denormal: mantissa * 2^-24, exact in float
    return float_of_bits(sign | bits_of(static_cast<float>(mantissa) * 0x1p-24f));
  }
  if (exponent == 31) return float_of_bits(sign | 0x7F800000u | mantissa << 13);
  return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline uint16_t f16_of_float(float value) {
  const uint32_t bits = bits_of(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // 65,520 and more round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves a float whose last bit is worth 2^-24, the denormals' step, rounded to even.
    return static_cast<uint16_t>(sign | (bits_of(float_of_bits(magnitude) + 0.5f) - bits_of(0.5f)));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13));
}

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_HALF_H_
