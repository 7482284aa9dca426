// Scales for each channel of an activation: where what multiplies it can make up for them, channels of small numbers
// then have as many levels as those of large ones.
#ifndef PLANWRIGHT_CALIBRATOR_CHANNEL_FACTORS_H_
#define PLANWRIGHT_CALIBRATOR_CHANNEL_FACTORS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "calibrator/range.h"

namespace planwright::calibrator {

// A channel's levels are at most so much finer than those of the largest, whose factor is 1.
inline constexpr float kLeastFactor = 1.0f / 1024;

// Between which ends the values of each channel lie, the same to the bit in whatever order and pieces they came.
class ChannelRanges {
 public:
  explicit ChannelRanges(int64_t channels);

  // Values of all channels in turns, of each `together` times: the elements behind its axis. NaN and infinities are
  // left out.
  void add(std::span<const float> values, int64_t together);

  // Factors from kLeastFactor to 1, by which channels are divided before they are quantised. `weights`: the largest magnitude
  // that multiplies each, which its factor multiplies in turn; so both share the difference between channels (the
  // square root of magnitude over weight); 0: the activation bears it alone. Empty where values are too large.
  std::vector<float> factors(std::span<const float> weights) const;

  // `whole`, of all values, as it is once each is divided by its channel's factor.
  Range divided(const Range& whole, const std::vector<float>& factors) const;

 private:
  std::vector<float> low_, high_;
};

// to[i] = values[i] / its channel's factor, as ChannelRanges::divided has it.
void divide_channels(std::span<const float> values, int64_t together, const std::vector<float>& factors,
                     std::vector<float>* to);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_CHANNEL_FACTORS_H_
