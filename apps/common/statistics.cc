#include "apps/common/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace planwright::apps {

Summary summarise(std::vector<double> values, const std::vector<double>& percentiles) {
  std::sort(values.begin(), values.end());
  const size_t count = values.size();
  Summary summary;
  summary.min = values.front();
  summary.max = values.back();
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  summary.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (summary.mean > 0)
    summary.coefficient_of_variation = std::sqrt(squares / static_cast<double>(count)) / summary.mean;
  for (const double percent : percentiles) {
    const size_t left_out = static_cast<size_t>((1 - percent / 100) * static_cast<double>(count));
    summary.percentiles.emplace_back(percent, values[count - 1 - std::min(left_out, count - 1)]);
  }
  return summary;
}

}  // namespace planwright::apps
