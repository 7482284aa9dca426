#include "calibrator/thresholds.h"

namespace planwright::calibrator {

const char* name_of(Calibrator calibrator) {
  switch (calibrator) {
    case Calibrator::kEntropy: return "entropy";
    case Calibrator::kMinMax: return "minmax";
    case Calibrator::kPercentile: return "percentile";
    case Calibrator::kMse: return "mse";
  }
  return "?";
}

std::optional<Calibrator> parse_calibrator(std::string_view name) {
  for (const Calibrator calibrator : kCalibrators) {
    if (name == name_of(calibrator)) return calibrator;
  }
  return std::nullopt;
}

float threshold_of(Calibrator calibrator, const Histogram& histogram, double percentile) {
  switch (calibrator) {
    case Calibrator::kEntropy: return entropy_threshold(histogram);
    case Calibrator::kMinMax: return histogram.limit();
    case Calibrator::kPercentile: return percentile_threshold(histogram, percentile);
    case Calibrator::kMse: return mse_threshold(histogram);
  }
  return histogram.limit();
}

float percentile_threshold(const Histogram& histogram, double percentile) {
  const double wanted = percentile / 100 * static_cast<double>(histogram.total());
  uint64_t within = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    within += histogram.counts()[bin];
    if (within > 0 && static_cast<double>(within) >= wanted) return histogram.edge(bin + 1);
  }
  return histogram.limit();
}

}  // namespace planwright::calibrator
