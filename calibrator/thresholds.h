// Which magnitudes quantisation keeps apart: what lies beyond the threshold is clipped to it.
#ifndef PLANWRIGHT_CALIBRATOR_THRESHOLDS_H_
#define PLANWRIGHT_CALIBRATOR_THRESHOLDS_H_

#include <optional>
#include <string_view>

#include "calibrator/histogram.h"

namespace planwright::calibrator {

enum class Calibrator : uint8_t { kEntropy, kMinMax, kPercentile, kMse };

inline constexpr Calibrator kCalibrators[] = {Calibrator::kEntropy, Calibrator::kMinMax, Calibrator::kPercentile,
                                              Calibrator::kMse};

// As --calibrator spells it.
const char* name_of(Calibrator calibrator);
std::optional<Calibrator> parse_calibrator(std::string_view name);

inline constexpr double kDefaultPercentile = 99.99;

// Thresholds from 0 to the histogram's limit; 0 only where the limit is.
float threshold_of(Calibrator calibrator, const Histogram& histogram, double percentile = kDefaultPercentile);

// The cut of the least information lost, as TensorRT finds it (S. Migacz, "8-bit inference with TensorRT", GTC 2017):
// of the cuts i from 128 to 2047, the first one of the least KL(P || Q), where
//   P is the first i bins, what lies beyond them added to the last, and
//   Q is the first i bins merged to 128 levels, bin j to level j * 128 / i, each level spread evenly over those of its
//     bins that are not empty in P,
// each divided by its sum. The threshold is the middle of bin i. What lies beyond is not part of Q: were it, the cut
// 128, where P and Q would be the same, would always win. A cut for which some bin of P is not empty and its level is,
// loses infinitely much; where all do, nothing is clipped.
float entropy_threshold(const Histogram& histogram);

// The end of the first bin with which at least so many percent of all values are within.
float percentile_threshold(const Histogram& histogram, double percentile);

// The bin's edge, from the 128th to the limit, at which symmetric quantisation to int8 has the least expected squared
// error, if values are spread evenly over each bin.
float mse_threshold(const Histogram& histogram);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_THRESHOLDS_H_
