// Conversions between float and the floating types of eight bits and fewer, held as codes in the low bits of a byte.
//
// The types and their special codes: FP8 Formats for Deep Learning (arXiv:2209.05433) for E4M3FN and E5M2, 8-bit
// Numerical Formats for Deep Neural Networks (arXiv:2206.02915) for FNUZ, OCP Microscaling Formats 1.0 for E8M0 and
// those of six and four bits.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_MINIFLOAT_H_
#define PLANWRIGHT_SCHEMAS_TYPES_MINIFLOAT_H_

#include <cstdint>

#include "schemas/types/dtype.h"
#include "schemas/types/half.h"

namespace planwright {

// Sign, exponent, mantissa, from the high bit down. Codes are without their sign.
struct MinifloatFormat {
  int exponent_bits, mantissa_bits, bias;
  uint8_t greatest;  // the largest finite number
  uint8_t overflow;  // what rounds past it: infinity, NaN, or the largest number where the type has neither
  uint8_t nan;
  bool has_negative_zero;

  constexpr uint8_t sign_bit() const { return static_cast<uint8_t>(1u << (exponent_bits + mantissa_bits)); }
};

// Of any minifloat but E8M0. FNUZ types have one NaN in the place of the zero with a sign. Types without a NaN make
// that zero of it, as ml_dtypes and so ONNX's own tests do.
constexpr MinifloatFormat minifloat_format(DType type) {
  switch (type) {
    case DType::kF8E4M3FN: return {4, 3, 7, 0x7E, 0x7F, 0x7F, true};
    case DType::kF8E4M3FNUZ: return {4, 3, 8, 0x7F, 0x80, 0x80, false};
    case DType::kF8E5M2: return {5, 2, 15, 0x7B, 0x7C, 0x7E, true};
    case DType::kF8E5M2FNUZ: return {5, 2, 16, 0x7F, 0x80, 0x80, false};
    case DType::kF6E2M3: return {2, 3, 1, 0x1F, 0x1F, 0x20, true};
    case DType::kF6E3M2: return {3, 2, 3, 0x1F, 0x1F, 0x20, true};
    default: return {2, 1, 1, 0x07, 0x07, 0x08, true};  // kF4E2M1
  }
}

// 2^(code - 127): always a float, the smallest a denormal one. 255 is NaN.
inline float float_of_e8m0(uint8_t code) {
  if (code == 0xFF) return float_of_bits(0x7FC00000u);
  return float_of_bits(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

// The nearest power of two, the larger where two are as near. NaN for anything outside [2^-127, 2^127]: zero, negative
// numbers and infinity among them.
inline uint8_t e8m0_of_float(float value) {
  if (!(value >= 0x1p-127f && value <= 0x1p127f)) return 0xFF;
  const uint32_t bits = bits_of(value);
  // The denormals here are in [2^-127, 2^-126): only their distance from the ends differs.
  if (bits < 0x00800000u) return bits >= 0x00600000u;
  return static_cast<uint8_t>((bits + 0x00400000u) >> 23);
}

inline float float_of_minifloat(DType type, uint8_t code) {
  if (type == DType::kF8E8M0) return float_of_e8m0(code);
  const MinifloatFormat format = minifloat_format(type);
  const uint32_t sign_bit = format.sign_bit();
  const uint32_t sign = (code & sign_bit) != 0 ? 0x80000000u : 0, magnitude = code & (sign_bit - 1);
  if (magnitude > format.greatest || (magnitude == 0 && sign != 0 && !format.has_negative_zero)) {
    const bool is_infinite = magnitude == format.overflow && format.overflow != format.nan;
    return float_of_bits(sign | (is_infinite ? 0x7F800000u : 0x7FC00000u));
  }
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  if (exponent == 0) {  // zero or denormal: a few bits times the smallest number, exact in float
    const uint32_t smallest = static_cast<uint32_t>(128 - format.bias - format.mantissa_bits) << 23;
    return float_of_bits(sign | bits_of(static_cast<float>(mantissa) * float_of_bits(smallest)));
  }
  return float_of_bits(sign | (exponent + static_cast<uint32_t>(127 - format.bias)) << 23 |
                       mantissa << (23 - format.mantissa_bits));
}

// Rounded to nearest even. What rounds past the largest number becomes the type's infinity or NaN; where it has
// neither, the largest number.
inline uint8_t minifloat_of_float(DType type, float value) {
  if (type == DType::kF8E8M0) return e8m0_of_float(value);
  const MinifloatFormat format = minifloat_format(type);
  const uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  const uint8_t sign = bits >> 31 != 0 ? format.sign_bit() : 0;
  if (magnitude > 0x7F800000u) return sign | format.nan;
  if (magnitude == 0x7F800000u) return sign | format.overflow;

  // The value is significand * 2^(scale - 150). Its exponent in the type, counted from that of the smallest normal
  // number, says how many of the significand's bits are cut.
  const int scale = magnitude < 0x00800000u ? 1 : static_cast<int>(magnitude >> 23);
  const uint32_t significand = magnitude < 0x00800000u ? magnitude : (magnitude & 0x007FFFFFu) | 0x00800000u;
  const int above = scale - (128 - format.bias);
  const int exponent = above > 0 ? above : 0;
  const int cut = 23 - format.mantissa_bits + exponent - above;
  if (cut > 24) return format.has_negative_zero ? sign : 0;  // less than half of the smallest number
  uint32_t kept = significand >> cut;
  const uint32_t rest = significand & ((1u << cut) - 1), half = 1u << (cut - 1);
  kept += rest > half || (rest == half && (kept & 1) != 0);

  // A mantissa that was rounded up to the next power of two carries into the exponent.
  const uint32_t code = (static_cast<uint32_t>(exponent) << format.mantissa_bits) + kept;
  if (code > format.greatest) return sign | format.overflow;
  return code == 0 && !format.has_negative_zero ? 0 : static_cast<uint8_t>(sign | code);
}

// The largest finite number of a minifloat.
inline float greatest_of_minifloat(DType type) {
  return type == DType::kF8E8M0 ? 0x1p127f : float_of_minifloat(type, minifloat_format(type).greatest);
}

// The value of one byte that is an element of a minifloat or of an integer type of less than a byte; exact. Bits past
// the type's width do not count.
inline float value_of_byte(DType type, uint8_t byte) {
  return is_minifloat(type) ? float_of_minifloat(type, byte) : static_cast<float>(wrap_sub_byte(type, byte));
}

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_MINIFLOAT_H_
