// The figures of a performance summary, by trtexec's rules.
#ifndef PLANWRIGHT_APPS_COMMON_STATISTICS_H_
#define PLANWRIGHT_APPS_COMMON_STATISTICS_H_

#include <utility>
#include <vector>

namespace planwright::apps {

struct Summary {
  double min = 0, max = 0, mean = 0, median = 0;
  double coefficient_of_variation = 0;                 // standard deviation / mean
  std::vector<std::pair<double, double>> percentiles;  // (percent, value)
};

// Of `values` (any order, not empty). The value at percentile p is the one at index n - 1 - floor((1 - p/100) * n) of
// the sorted values; the median of an even count is the mean of the middle two.
Summary summarise(std::vector<double> values, const std::vector<double>& percentiles);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_STATISTICS_H_
