// How long a buffer lives where steps have bodies: the rule that the builder's memory plan and the verifier share.
#ifndef PLANWRIGHT_PLANFMT_NESTING_H_
#define PLANWRIGHT_PLANFMT_NESTING_H_

#include <cstdint>

namespace planwright::planfmt {

inline constexpr uint32_t kNoStep = UINT32_MAX;

// A step among all steps in sequence, each followed by those of its bodies.
struct StepNesting {
  uint32_t owner;  // the step whose body it is in; kNoStep in the program's own region
  uint32_t end;    // the step after the last of its bodies
  bool is_loop;    // its body runs again and again
};

// Widens the steps [first, last] in which a buffer is used to those in which it must be kept: what a loop's body shares
// with the steps before the loop is needed by its next iteration too, and what steps after the loop read must not be
// overwritten by one.
inline void widen_life(const StepNesting* steps, uint32_t* first, uint32_t* last) {
  const uint32_t from = *first;
  for (uint32_t owner = steps[*last].owner; owner != kNoStep; owner = steps[owner].owner) {
    if (steps[owner].is_loop && from <= owner) *last = steps[owner].end - 1;
  }
  for (uint32_t owner = steps[from].owner; owner != kNoStep; owner = steps[owner].owner) {
    if (steps[owner].is_loop && *last >= steps[owner].end) *first = owner;
  }
}

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_NESTING_H_
