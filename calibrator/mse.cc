#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "calibrator/thresholds.h"

namespace planwright::calibrator {
namespace {

constexpr int kLevels = 128;  // from 0 on; those below mirror them

double cube(double x) { return x * x * x; }

// The error's integral over the bins that lie within one level's cell is a polynomial in their moments, so a cut costs
// as many steps as there are levels, not bins. The width of a bin is 1 here.
class SquaredErrors {
 public:
  explicit SquaredErrors(const std::vector<uint64_t>& counts) : counts_(counts) {
    for (int bin = 0; bin < kBins; ++bin) {
      const auto count = static_cast<double>(counts[bin]);
      const double middle = bin + 0.5;
      moments_[bin + 1] = {moments_[bin].count + count, moments_[bin].first + count * middle,
                           moments_[bin].second + count * (middle * middle + 1.0 / 12)};
    }
  }

  // The sum over all values of the squared error with the largest level at the edge of bin `cut`.
  double at(int cut) const {
    const double step = cut / (kLevels - 1.0), half = step / 2;
    double sum = 0;
    int first = 0;  // bin that lies wholly in the cell, or is none
    for (int level = 0; level + 1 < kLevels; ++level) {
      const double value = level * step, border = value + half;
      const int straddling = static_cast<int>(border);  // cells are wider than bins: it reaches into the next cell only
      sum += error_of(first, straddling, value);
      const double inside = cube(half) - cube(straddling - value);
      const double outside = cube(straddling + 1 - (value + step)) + cube(half);
      sum += static_cast<double>(counts_[straddling]) * (inside + outside) / 3;
      first = straddling + 1;
    }
    return sum + error_of(first, kBins, cut);
  }

 private:
  struct Moments {
    double count = 0, first = 0, second = 0;
  };

  // Of the bins [from, to), whose values all become `value`.
  double error_of(int from, int to, double value) const {
    if (to <= from) return 0;
    const Moments &a = moments_[from], &b = moments_[to];
    return b.second - a.second - 2 * value * (b.first - a.first) + value * value * (b.count - a.count);
  }

  const std::vector<uint64_t>& counts_;
  std::array<Moments, kBins + 1> moments_{};  // of the bins before each
};

}  // namespace

float mse_threshold(const Histogram& histogram) {
  if (histogram.limit() == 0 || histogram.total() == 0) return histogram.limit();
  const auto errors = std::make_unique<SquaredErrors>(histogram.counts());
  double least = std::numeric_limits<double>::infinity();
  int best = kBins;
  for (int cut = kLevels; cut <= kBins; ++cut) {
    const double error = errors->at(cut);
    if (error < least) least = error, best = cut;
  }
  return histogram.edge(best);
}

}  // namespace planwright::calibrator
