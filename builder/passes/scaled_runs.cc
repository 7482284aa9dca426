#include "builder/passes/scaled_runs.h"

#include <cmath>

namespace planwright::builder {
namespace {

// Of a quotient of two products that were rounded to fp32 each.
constexpr double kRounding = 0x1p-22;

// Whether all elements of a run are integers of the type times `scale`, which are written to their places then.
bool divide_run(const float* elements, const ScaledRun& run, double scale, DType dtype, int8_t* to) {
  const IntegerRange range = integer_range(bit_width(dtype));
  for (int64_t i = 0; i < run.length; ++i) {
    const int64_t at = run.first + i * run.step;
    const double quotient = static_cast<double>(elements[at]) / scale, integer = std::nearbyint(quotient);
    if (integer < range.least || integer > range.most || std::abs(quotient - integer) > kRounding * std::abs(integer))
      return false;
    to[at] = static_cast<int8_t>(integer);
  }
  return true;
}

}  // namespace

float scale_of(const float* elements, const ScaledRun& run, DType dtype, int8_t* to) {
  double largest = 0;
  for (int64_t i = 0; i < run.length; ++i) {
    const float element = elements[run.first + i * run.step];
    if (!std::isfinite(element)) return 0;
    largest = std::max(largest, std::abs(static_cast<double>(element)));
  }
  if (largest == 0) return 1;
  for (double integer = -integer_range(bit_width(dtype)).least; integer > 0; --integer) {
    for (const double scale : {largest / integer, -largest / integer}) {
      if (!divide_run(elements, run, scale, dtype, to)) continue;
      return std::isnormal(static_cast<float>(scale)) ? static_cast<float>(scale) : 0;
    }
  }
  return 0;
}

}  // namespace planwright::builder
