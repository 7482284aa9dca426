// When the storages of a plan being written are alive: what the memory plan packs and reports show.
#ifndef PLANWRIGHT_PLANFMT_LIFETIMES_H_
#define PLANWRIGHT_PLANFMT_LIFETIMES_H_

#include <vector>

#include "planfmt/nesting.h"
#include "planfmt/plan_model.h"

namespace planwright::planfmt {

// All steps in sequence, each followed by those of its bodies.
struct StepSequence {
  std::vector<const StepModel*> steps;
  std::vector<StepNesting> nesting;
};
StepSequence sequence_of(const ProgramModel& program);

// Steps [first, last] of that sequence; `used` is false for a storage that no step touches.
struct StorageLife {
  bool used = false;
  uint32_t first = 0, last = 0;
};
// One for each of the program's storages.
std::vector<StorageLife> storage_lives(const ProgramModel& program);

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_LIFETIMES_H_
