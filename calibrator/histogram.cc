#include "calibrator/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrator/float_bits.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {

Histogram::Histogram(float limit) : limit_(limit), counts_(kBins, 0) {}

void Histogram::add(std::span<const float> values, const std::string& tensor) {
  // A product in place of a quotient. The quotient of two floats, times 2048, is an integer below 2049 or at least
  // 2^-35 of itself away from one; 2^-45 more than the rounded reciprocal makes up for its rounding and reaches no next
  // integer.
  const double bins = limit_ == 0 ? 0 : kBins / static_cast<double>(limit_) * (1 + 0x1p-45);
  const uint32_t limit_bits = magnitude_bits(limit_);
  uint32_t most = 0;
  for (const float value : values) {
    const uint32_t bits = magnitude_bits(value);
    if (bits >= kInfinity) continue;
    most = std::max(most, bits);
    const double place = static_cast<double>(std::bit_cast<float>(bits)) * bins;
    ++counts_[static_cast<size_t>(std::min<double>(place, kBins - 1))];
  }
  if (most <= limit_bits) return;
  throw Error(
      StatusCode::kPrecondition,
      fmt::format("'{}' reaches {} now, where calibration found at most {} at first: its samples changed, or the "
                  "model draws random numbers",
                  tensor, std::bit_cast<float>(most), limit_));
}

void Histogram::merge(const Histogram& other) {
  for (int bin = 0; bin < kBins; ++bin) counts_[bin] += other.counts_[bin];
}

uint64_t Histogram::total() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

}  // namespace planwright::calibrator
