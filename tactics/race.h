// Racing contestants against each other: all run in turn, the clearly slower drop out early, the rest go on until they
// can be told apart or time is up. Knows nothing of kernels, so that tests race made-up times.
#ifndef PLANWRIGHT_TACTICS_RACE_H_
#define PLANWRIGHT_TACTICS_RACE_H_

#include <cmath>
#include <functional>
#include <vector>

#include "tactics/clock.h"
#include "tactics/measurement.h"

namespace planwright::tactics {

struct RaceRules {
  int runs = 8;                   // each survivor gets at least these
  double budget_us = 250e3;       // after so long (by `clock`) only near-equals go on, after four times so long nobody
  double deadline_us = HUGE_VAL;  // at this moment the race ends as it stands, with one run in all at the least
};

// Runs contestant `i` once; what it took, in microseconds.
using RunOnce = std::function<double(int contestant)>;

// One measurement for each of `contestants`, kTimed or kDropped; where the deadline came first also kUntried, of those
// whose first run was still to come. At least one is kTimed, of at least three runs unless the deadline came.
std::vector<Measurement> race(int contestants, const RaceRules& rules, const RunOnce& run_once, const Clock& clock);

// The lower quartile of at least one sample, and its spread: what disturbs a run only ever adds to its time, and on a
// machine that is slow for a while, as virtual ones are, the median still moves where a quartile does not. Reorders
// `samples`.
Measurement summarize(std::vector<double>& samples);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_RACE_H_
