// Trying candidates out in a child process, so that one that crashes or hangs is excluded and the build goes on
// (FAULTS B25), and so that a cancelled build need not wait for a kernel (B24).
#ifndef PLANWRIGHT_TACTICS_TRIAL_PROCESS_H_
#define PLANWRIGHT_TACTICS_TRIAL_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

#include "tactics/trial.h"

namespace planwright::tactics {

struct TrialWatch {
  std::function<bool()> cancelled;  // asked 50 times a second; may be empty
  double hang_seconds = 10;         // what one run of a small step may take; large steps get more
};

struct TrialResult {
  std::vector<Measurement> measurements;  // one a candidate
  std::vector<std::string> reasons;       // why a candidate is not usable; empty where it is
  int timed_runs = 0, disturbed = 0;      // runs that another process interrupted
  bool cut_short = false;                 // by the race's deadline
};

// Each candidate's measurement; all kUntried where none could be tried. The child never outlives this process.
// Throws Error: kCancelled, kResource (no process or memory to be had).
TrialResult try_candidates(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
                           const TrialWatch& watch);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TRIAL_PROCESS_H_
