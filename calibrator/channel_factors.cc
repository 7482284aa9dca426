#include "calibrator/channel_factors.h"

#include <algorithm>
#include <cmath>

namespace planwright::calibrator {
namespace {

// Divided by kLeastFactor still finite.
constexpr float kLargestValue = 1e30f;

}  // namespace

ChannelRanges::ChannelRanges(int64_t channels)
    : low_(static_cast<size_t>(channels)), high_(static_cast<size_t>(channels)) {}

void ChannelRanges::add(std::span<const float> values, int64_t together) {
  const auto step = static_cast<size_t>(together);
  for (size_t begin = 0, channel = 0; begin < values.size(); begin += step) {
    float low = low_[channel], high = high_[channel];
    for (const float x : values.subspan(begin, step)) {
      if (!std::isfinite(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    low_[channel] = low;
    high_[channel] = high;
    channel = channel + 1 == low_.size() ? 0 : channel + 1;
  }
}

std::vector<float> ChannelRanges::factors(std::span<const float> weights) const {
  std::vector<float> made;
  float largest = 0;
  for (size_t c = 0; c < low_.size(); ++c) {
    const float magnitude = std::max(-low_[c], high_[c]);
    if (magnitude > kLargestValue) return {};
    made.push_back(weights[c] > 0 ? std::sqrt(magnitude / weights[c]) : magnitude);
    if (std::isfinite(made.back())) largest = std::max(largest, made.back());
  }
  if (!std::isnormal(largest)) return {};
  for (float& factor : made) factor = std::clamp(factor / largest, kLeastFactor, 1.0f);
  return made;
}

Range ChannelRanges::divided(const Range& whole, const std::vector<float>& factors) const {
  Range range = whole;
  range.low = range.high = 0;
  for (size_t c = 0; c < factors.size(); ++c) {
    range.low = std::min(range.low, low_[c] / factors[c]);
    range.high = std::max(range.high, high_[c] / factors[c]);
  }
  return range;
}

void divide_channels(std::span<const float> values, int64_t together, const std::vector<float>& factors,
                     std::vector<float>* to) {
  to->resize(values.size());
  const auto step = static_cast<size_t>(together);
  for (size_t begin = 0, channel = 0; begin < values.size(); begin += step) {
    const float factor = factors[channel];
    for (size_t i = begin; i < begin + step; ++i) (*to)[i] = values[i] / factor;
    channel = channel + 1 == factors.size() ? 0 : channel + 1;
  }
}

}  // namespace planwright::calibrator
