// One piece of work in a search, which any number of layers may do alike: who can do it, and what is known of them.
#ifndef PLANWRIGHT_TACTICS_CONTEST_H_
#define PLANWRIGHT_TACTICS_CONTEST_H_

#include <optional>
#include <string>
#include <vector>

#include "tactics/measurement.h"
#include "tactics/select.h"
#include "tactics/step_spec.h"

namespace planwright::tactics {

// What a choice rests on.
enum class Basis {
  kGuess,     // nothing is to be timed: level 0, or only the reference kernel is left
  kNoBudget,  // the first candidate, because the budget was spent before this work's turn
  kCache,
  kTimed,
  kCutShort,  // timed until the budget's deadline
};

struct Contest {
  const StepSpec* spec = nullptr;  // of the first layer that does this work
  int layers = 1;
  std::vector<Candidate> candidates;  // best guess first, the reference kernel last
  std::vector<Candidate> tried;       // those of them that are raced, from the first on
  double race_us = 0;                 // what the race may take (race_budget_us)
  std::vector<Refusal> refusals;
  TacticKey key;  // of the race in the timing cache
  Basis basis = Basis::kGuess;
  std::optional<std::vector<Measurement>> measurements;  // of those tried
  std::vector<std::string> reasons;                      // why they are excluded, where this search found it out
  size_t chosen = 0;                                     // of `candidates`
};

// Why a candidate with such an outcome may not be chosen, as words: "crashed (REASON)".
std::string words_for(Outcome outcome, const std::string& reason);

// The reason that this search has for excluding candidate `index` of those tried.
std::string reason_of(const Contest& contest, size_t index);

// Refusals of several kernels for one reason, said once: (reason, "KERNEL, KERNEL").
std::vector<std::pair<std::string, std::string>> kernels_by_reason(const std::vector<Refusal>& refusals);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CONTEST_H_
