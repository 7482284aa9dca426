// How much work a step is, roughly.
#ifndef PLANWRIGHT_TACTICS_WORK_H_
#define PLANWRIGHT_TACTICS_WORK_H_

#include <vector>

#include "tactics/step_spec.h"

namespace planwright::tactics {

// Operations the reference kernel does: multiplications and additions of a contraction, elements touched (times what
// is done to each) of everything else.
double work_of(const StepSpec& spec);

// Elements that are read or written, each counted once.
double touched_by(const StepSpec& spec);

// What a run of a fast kernel takes on one core, very roughly, in microseconds: arithmetic in registers, and elements
// that come from and go to memory, which a contraction of few channels or a Pool mostly waits for.
double fast_run_us(const StepSpec& spec);

// Bytes that an engine of these steps goes through in a run, at the least: all constants, each counted once, and the
// most that one step reads and writes besides.
double working_set_of(const std::vector<StepSpec>& specs);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_WORK_H_
