// Trying a step's candidates out: each is packed, run, compared with the reference, and those that agree are raced.
// Candidates run in the calling process; see trial_process.h for the fence around it.
#ifndef PLANWRIGHT_TACTICS_TRIAL_H_
#define PLANWRIGHT_TACTICS_TRIAL_H_

#include <vector>

#include "tactics/race.h"
#include "tactics/select.h"
#include "tactics/trial_board.h"

namespace planwright::tactics {

// A step of at most so much work (work_of) is always compared with the reference kernel, which does some 0.3 to 1
// GFLOP/s: 0.1 s.
constexpr double kAlwaysCheckedWork = 50e6;

// Of a contestant's turn in the race: one that does not count, and two of which the shorter does (of an Rnn only one).
constexpr int kRunsInTurn = 3;

struct TrialRules {
  int threads = 1;
  int contexts = 1;  // that run at once, this one included (neighbours.h)
  RaceRules race;
  bool use_reference = true;  // false: candidates are compared with the first of them only
  size_t swept_bytes = 0;     // of each core's L2, before every run (cache_state.h)
};

// Fills in the board's measurement of every candidate that is kUntried there; leaves them so where the operands that
// this code can make are such that even the reference refuses them, and where the race's deadline comes first: at
// least one candidate is timed then, and every kernel is run before another parameter set of one is. Throws
// std::bad_alloc; Error(kResource) without threads.
void run_trial(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
               TrialBoard& board);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TRIAL_H_
