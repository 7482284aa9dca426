// How much work a step is, roughly.
#ifndef PLANWRIGHT_TACTICS_WORK_H_
#define PLANWRIGHT_TACTICS_WORK_H_

#include "tactics/step_spec.h"

namespace planwright::tactics {

// Operations the reference kernel does: multiplications and additions of a contraction, elements touched (times what
// is done to each) of everything else.
double work_of(const StepSpec& spec);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_WORK_H_
