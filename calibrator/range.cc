#include "calibrator/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrator/float_bits.h"

namespace planwright::calibrator {

void Range::add(std::span<const float> values) {
  int32_t least = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<int32_t>::min();
  uint64_t bad = 0;
  for (const float value : values) {
    const bool is_finite = magnitude_bits(value) < kInfinity;
    const int32_t bits = ordered_bits(value);
    least = std::min(least, is_finite ? bits : least);
    most = std::max(most, is_finite ? bits : most);
    bad += is_finite ? 0 : 1;
  }
  Range part;
  part.count = values.size() - bad;
  part.non_finite = bad;
  if (part.count > 0)
    part.low = value_of_ordered(least) + 0.0f, part.high = value_of_ordered(most) + 0.0f;  // -0 + 0 is 0
  merge(part);
}

void Range::merge(const Range& other) {
  if (other.count > 0) {
    low = count > 0 ? std::min(low, other.low) : other.low;
    high = count > 0 ? std::max(high, other.high) : other.high;
  }
  count += other.count;
  non_finite += other.non_finite;
}

float Range::limit() const { return std::max(std::abs(low), std::abs(high)); }

std::optional<std::string> find_fault(const std::string& tensor, const Range& range) {
  if (range.non_finite > 0) {
    return fmt::format("'{}': {} of {} values in calibration are NaN or infinite; they are left out", tensor,
                       range.non_finite, range.count + range.non_finite);
  }
  if (range.count == 0) return fmt::format("'{}' has no elements in any calibration sample; its scale is 1", tensor);
  if (range.limit() == 0) return fmt::format("'{}' is 0 in every calibration sample; its scale is 1", tensor);
  return std::nullopt;
}

}  // namespace planwright::calibrator
