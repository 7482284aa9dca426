#include "tactics/search_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tactics/trial.h"

namespace planwright::tactics {
namespace {

// A child process, its threads, and the operands.
constexpr double kSetUpUs = 5e3;
// Operations a microsecond: of a reference kernel, and of a fast one that is not at its best.
constexpr double kReferenceRate = 500, kFastRate = 20e3;
// Packing, first runs and timed runs of two or three candidates.
constexpr double kLeastRuns = 10;

}  // namespace

TrialEstimate estimate_trial(double work, int layers, size_t candidates, double race_us) {
  TrialEstimate estimate;
  if (candidates > 1) estimate.weight = work * layers;
  const double reference_us = work <= kAlwaysCheckedWork ? work / kReferenceRate : 0;
  estimate.least_us = kSetUpUs + reference_us + kLeastRuns * work / kFastRate;
  estimate.full_us = estimate.least_us + race_us;
  return estimate;
}

std::vector<size_t> heaviest_first(const std::vector<TrialEstimate>& estimates) {
  std::vector<size_t> order(estimates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return estimates[a].weight > estimates[b].weight; });
  return order;
}

SearchBudget::SearchBudget(double budget_us, std::vector<TrialEstimate> estimates, Clock clock)
    : end_us_(clock() + budget_us),
      estimates_(std::move(estimates)),
      weight_from_(estimates_.size() + 1),
      full_from_(estimates_.size() + 1),
      clock_(std::move(clock)) {
  for (size_t i = estimates_.size(); i-- > 0;) {
    weight_from_[i] = weight_from_[i + 1] + estimates_[i].weight;
    full_from_[i] = full_from_[i + 1] + estimates_[i].full_us;
  }
}

std::optional<double> SearchBudget::deadline_of(size_t index) const {
  if (std::isinf(end_us_)) return end_us_;
  const TrialEstimate& estimate = estimates_[index];
  const double now = clock_(), left = end_us_ - now;
  if (left < estimate.least_us) return std::nullopt;
  const double share = weight_from_[index] > 0 ? left * (estimate.weight / weight_from_[index]) : left;
  // Where all that follow can have what they need, the rest is for whoever needs it: a budget that is large enough for
  // the search hurries nobody.
  const double surplus = left - full_from_[index + 1];
  return now + std::min(left, std::max({share, surplus, estimate.least_us}));
}

}  // namespace planwright::tactics
