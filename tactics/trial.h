// Trying a step's candidates out: each is packed, run, compared with the reference, and those that agree are raced.
// Candidates run in the calling process; see trial_process.h for the fence around it.
#ifndef PLANWRIGHT_TACTICS_TRIAL_H_
#define PLANWRIGHT_TACTICS_TRIAL_H_

#include <vector>

#include "tactics/race.h"
#include "tactics/select.h"
#include "tactics/trial_board.h"

namespace planwright::tactics {

struct TrialRules {
  int threads = 1;
  RaceRules race;
  bool use_reference = true;  // false: candidates are compared with the first of them only
};

// Fills in the board's measurement of every candidate that is kUntried there; leaves them so where the operands that
// this code can make are such that even the reference refuses them. Throws std::bad_alloc; Error(kResource) without
// threads.
void run_trial(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
               TrialBoard& board);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TRIAL_H_
