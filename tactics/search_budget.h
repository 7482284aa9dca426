// Dealing out the time that a search may take (--budget) among the trials of its layers: heavy ones first, each a fair
// share of what is left.
#ifndef PLANWRIGHT_TACTICS_SEARCH_BUDGET_H_
#define PLANWRIGHT_TACTICS_SEARCH_BUDGET_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "tactics/clock.h"
#include "tactics/step_spec.h"

namespace planwright::tactics {

// What racing a step may take at an optimisation level of 0 to 5, whose layers have such a share of a network's time.
double race_budget_us(int level, double share);

// What is known of a trial before it begins.
struct TrialEstimate {
  double weight = 0;    // what a good choice is worth: the time that all layers of this work take in a run
  double least_us = 0;  // in less time the trial tells nothing
  double full_us = 0;   // what it mostly takes when nobody hurries it
};

// Of a step that `layers` layers do alike, with `candidates` to try, whose race may take `race_us`. Where there is
// nothing to choose from, the trial is worth nothing: it comes last.
TrialEstimate estimate_trial(const StepSpec& spec, int layers, size_t candidates, double race_us);

// Positions in `estimates`, heaviest first, equals as they come.
std::vector<size_t> heaviest_first(const std::vector<TrialEstimate>& estimates);

// Knows nothing of kernels, so that tests deal out made-up time.
class SearchBudget {
 public:
  // `estimates` in the order of the trials. An infinite `budget_us` is no limit.
  SearchBudget(double budget_us, std::vector<TrialEstimate> estimates, Clock clock);

  // The moment at which the trial of `index` must end; nothing where too little is left for it to tell anything. What
  // the trials before it left over is dealt out again.
  std::optional<double> deadline_of(size_t index) const;

  // Once every trial had its turn: the end of the budget where what is left over is enough for a whole trial of
  // `index`, which its deadline cut short; else nothing.
  std::optional<double> second_deadline_of(size_t index) const;

 private:
  double end_us_;
  std::vector<TrialEstimate> estimates_;
  std::vector<double> weight_from_, full_from_;  // of each trial and all that follow it
  Clock clock_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_SEARCH_BUDGET_H_
