#include "tactics/search_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tactics/trial.h"
#include "tactics/work.h"

namespace planwright::tactics {
namespace {

// All in microseconds; on the safe side by some 40 % for whole networks of convolutions.
// A child process and its threads.
constexpr double kProcessUs = 5e3;
// What an element that is touched takes: to make up, to be compared with what is expected and packed, and to be swept
// and written again before each timed run.
constexpr double kMakeUs = 0.005, kAdmitUs = 0.008, kPrepareUs = 0.001;
// Operations of a reference kernel in a microsecond.
constexpr double kReferenceRate = 200;
// Runs of a candidate in a race on the whole, and before it can be told from others: most drop out early.
constexpr double kRunsInRace = 4 * kRunsInTurn, kFewestRuns = 2 * kRunsInTurn;
// Fewer candidates tell little.
constexpr double kFewestCandidates = 4;

// A network of a hundred distinct layers tunes in under a minute at the default level, operands and comparison
// included.
constexpr double kRaceUs[] = {0, 40e3, 100e3, 250e3, 1e6, 5e6};
// A step that is all of a network may take so many times as long, others by their share: of many layers the luck evens
// out, that of one which is nearly all (magika's convolution) is the network's.
constexpr double kRaceOfAll = 12;

}  // namespace

double race_budget_us(int level, double share) {
  return kRaceUs[std::clamp(level, 0, 5)] * std::max(1.0, kRaceOfAll * share);
}

TrialEstimate estimate_trial(const StepSpec& spec, int layers, size_t candidates, double race_us) {
  const double work = work_of(spec), touched = touched_by(spec), run_us = fast_run_us(spec);
  const double reference_us = work <= kAlwaysCheckedWork ? work / kReferenceRate : 0;
  const double set_up_us = kProcessUs + kMakeUs * touched + reference_us;
  const double admission_us = run_us + kAdmitUs * touched, timed_run_us = run_us + kPrepareUs * touched;
  const double count = static_cast<double>(candidates);
  TrialEstimate estimate;
  if (candidates > 1) estimate.weight = run_us * layers;
  estimate.least_us = set_up_us + std::min(count, kFewestCandidates) * (admission_us + kFewestRuns * timed_run_us);
  estimate.full_us = set_up_us + count * admission_us + std::min(race_us, count * kRunsInRace * timed_run_us);
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

std::optional<double> SearchBudget::second_deadline_of(size_t index) const {
  if (end_us_ - clock_() < estimates_[index].full_us) return std::nullopt;
  return end_us_;
}

}  // namespace planwright::tactics
