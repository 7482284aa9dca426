// What the minifloats are, worked out slowly in double from the formats' definitions: the oracle of their conversions.
#ifndef PLANWRIGHT_TESTS_SUPPORT_MINIFLOAT_ORACLE_H_
#define PLANWRIGHT_TESTS_SUPPORT_MINIFLOAT_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "schemas/types/dtype.h"

namespace planwright::testing {

struct Minifloat {
  DType dtype;
  int exponent_bits, mantissa_bits, bias;
  double greatest, overflow;  // as published
};
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
// All but E8M0.
inline constexpr Minifloat kMinifloats[] = {
    {DType::kF8E4M3FN, 4, 3, 7, 448, kNan},  {DType::kF8E4M3FNUZ, 4, 3, 8, 240, kNan},
    {DType::kF8E5M2, 5, 2, 15, 57344, kInf}, {DType::kF8E5M2FNUZ, 5, 2, 16, 57344, kNan},
    {DType::kF6E2M3, 2, 3, 1, 7.5, 7.5},     {DType::kF6E3M2, 3, 2, 3, 28, 28},
    {DType::kF4E2M1, 2, 1, 1, 6, 6},
};

inline bool is_fnuz(DType type) { return type == DType::kF8E4M3FNUZ || type == DType::kF8E5M2FNUZ; }

inline int code_count(const Minifloat& type) { return 2 << (type.exponent_bits + type.mantissa_bits); }

// The value of a code, by the definition.
inline double value_of_code(const Minifloat& type, int code) {
  if (is_fnuz(type.dtype) && code == 0x80) return kNan;
  const int exponent = code >> type.mantissa_bits & ((1 << type.exponent_bits) - 1);
  const int mantissa = code & ((1 << type.mantissa_bits) - 1);
  const double sign = code >= code_count(type) / 2 ? -1 : 1;
  if (type.dtype == DType::kF8E5M2 && exponent == 31) return mantissa == 0 ? sign * kInf : kNan;
  if (type.dtype == DType::kF8E4M3FN && (code & 0x7F) == 0x7F) return kNan;
  const double fraction = mantissa * std::exp2(-type.mantissa_bits);
  return sign *
         (exponent == 0 ? fraction * std::exp2(1 - type.bias) : (1 + fraction) * std::exp2(exponent - type.bias));
}

// What `value` rounds to: of all numbers the nearest, of two as near the one with the even code. Past the largest
// number by half a step, or more, lies what the type has there; where a type saturates, nothing does.
inline double rounded(const Minifloat& type, double value, bool saturates) {
  const bool has_no_nan = type.overflow == type.greatest;
  if (std::isnan(value)) return has_no_nan ? -0.0 : kNan;
  const double magnitude = std::fabs(value), in_range = std::min(magnitude, type.greatest);
  const double sign = std::signbit(value) ? -1 : 1;
  int best = 0;
  for (int code = 1; code < code_count(type) / 2; ++code) {
    if (!std::isfinite(value_of_code(type, code))) continue;
    const double distance = std::fabs(value_of_code(type, code) - in_range);
    const double least = std::fabs(value_of_code(type, best) - in_range);
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  if (best == 0) return is_fnuz(type.dtype) ? 0 : sign * 0.0;
  const double number = value_of_code(type, best), step = number - value_of_code(type, best - 1);
  const double past = magnitude - number;
  const bool overflows = number == type.greatest && (past > step / 2 || (past == step / 2 && best % 2 != 0));
  return sign * (overflows && !saturates ? type.overflow : number);
}

// Every number, every middle between two, the ends of the range, and what lies next to each; of both signs.
inline std::vector<float> points_of(const Minifloat& type) {
  std::vector<float> points = {0, 0x1p-149f, 0x1p-130f, 1e-20f, 1e20f, std::numeric_limits<float>::max()};
  double before = 0, step = 0;
  for (int code = 1; code < code_count(type) / 2; ++code) {
    const double value = value_of_code(type, code);
    if (!std::isfinite(value)) continue;
    points.insert(points.end(), {static_cast<float>(value), static_cast<float>((before + value) / 2)});
    step = value - before;
    before = value;
  }
  for (const double past : {step / 2, step, before}) points.push_back(static_cast<float>(before + past));
  std::vector<float> list = {static_cast<float>(kInf), -static_cast<float>(kInf), static_cast<float>(kNan)};
  for (const float point : points) {
    for (const float near : {point, std::nextafter(point, 0.0f), std::nextafter(point, 3e38f)}) {
      list.insert(list.end(), {near, -near});
    }
  }
  return list;
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_MINIFLOAT_ORACLE_H_
