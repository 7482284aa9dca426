#include "calibrator/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace planwright::calibrator {
namespace {

// 1 in place of what would be 0, or a denormal number, which contractions take for 0 (FAULTS B21).
float safe_scale(double scale) {
  const auto rounded = static_cast<float>(scale);
  return rounded >= std::numeric_limits<float>::min() ? rounded : 1.0f;
}

}  // namespace

Quantization quantize_symmetric(float threshold) { return {safe_scale(static_cast<double>(threshold) / 127), 0}; }

Quantization quantize_asymmetric(const Range& range, float threshold) {
  const double low = std::min(std::max(range.low, -threshold), 0.0f);
  const double high = std::max(std::min(range.high, threshold), 0.0f);
  Quantization made;
  made.scale = safe_scale((high - low) / 255);  // in double: the width may pass the largest float
  made.zero = static_cast<int32_t>(std::min(std::nearbyint(-low / static_cast<double>(made.scale)), 255.0));
  return made;
}

}  // namespace planwright::calibrator
