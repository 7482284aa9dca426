#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "calibrator/thresholds.h"

namespace planwright::calibrator {
namespace {

constexpr int kLevels = 128;
constexpr int kMostBinsOfLevel = (kBins - 1) / kLevels + 1;

// n log n
double weighed_log(uint64_t n) { return n == 0 ? 0 : static_cast<double>(n) * std::log(static_cast<double>(n)); }

// The first bin of a level when the first `cut` bins are merged.
int level_start(int level, int cut) { return (level * cut + kLevels - 1) / kLevels; }

// With sums P of N and Q of M, KL(P || Q) = log(M / N) + (sum of P log P - sum of P log q) / N, where q is what each
// bin of a level gets: the level's mass over the number of its bins that are not empty. The first sum is a running one.
// In the second, a level whose bins all lie before the last adds mass * log(mass / bins), which depends on nothing but
// where it starts and how many bins it has: 32,768 logarithms serve the 245,760 levels of all cuts.
class Divergences {
 public:
  explicit Divergences(const std::vector<uint64_t>& counts) : counts_(counts) {
    for (int bin = 0; bin < kBins; ++bin) {
      mass_[bin + 1] = mass_[bin] + counts[bin];
      filled_[bin + 1] = filled_[bin] + (counts[bin] != 0 ? 1 : 0);
      logs_[bin + 1] = logs_[bin] + weighed_log(counts[bin]);
    }
    for (int start = 0; start < kBins; ++start) {
      for (int bins = 1; bins <= kMostBinsOfLevel && start + bins <= kBins; ++bins) {
        const uint64_t mass = mass_[start + bins] - mass_[start];
        const int filled = filled_[start + bins] - filled_[start];
        spread_[start][bins - 1] = mass == 0 ? 0 : weighed_log(mass) - static_cast<double>(mass) * std::log(filled);
      }
    }
  }

  // KL(P || Q), infinite where Q is 0 and P is not.
  double at(int cut) const {
    double spread = 0;
    int start = 0;
    for (int level = 0; level + 1 < kLevels; ++level) {
      const int next = level_start(level + 1, cut);
      spread += spread_[start][next - start - 1];
      start = next;
    }
    // The last level, whose last bin has what lies beyond.
    const uint64_t beyond = mass_[kBins] - mass_[cut], last = counts_[cut - 1] + beyond;
    const uint64_t mass = mass_[cut] - mass_[start];
    const int filled = filled_[cut - 1] - filled_[start] + (last != 0 ? 1 : 0);
    if (mass + beyond > 0) {
      if (mass == 0) return std::numeric_limits<double>::infinity();
      spread += static_cast<double>(mass + beyond) * std::log(static_cast<double>(mass) / filled);
    }
    const auto all = static_cast<double>(mass_[kBins]);
    return std::log(static_cast<double>(mass_[cut]) / all) + (logs_[cut - 1] + weighed_log(last) - spread) / all;
  }

 private:
  const std::vector<uint64_t>& counts_;
  // Of the bins before each.
  std::array<uint64_t, kBins + 1> mass_{};
  std::array<int, kBins + 1> filled_{};
  std::array<double, kBins + 1> logs_{};
  double spread_[kBins][kMostBinsOfLevel];  // by the first bin and the number of bins
};

}  // namespace

float entropy_threshold(const Histogram& histogram) {
  if (histogram.limit() == 0 || histogram.total() == 0) return histogram.limit();
  const auto divergences = std::make_unique<Divergences>(histogram.counts());
  double least = std::numeric_limits<double>::infinity();
  int best = 0;
  for (int cut = kLevels; cut < kBins; ++cut) {
    const double divergence = divergences->at(cut);
    if (divergence < least) least = divergence, best = cut;
  }
  return best == 0 ? histogram.limit() : histogram.edge(best + 0.5);
}

}  // namespace planwright::calibrator
