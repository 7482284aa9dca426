// A program's steps in one sequence: each step, then those of its bodies. Numbers of steps are places in it, outside
// planfmt too: stages, lifetimes and errors count so.
#ifndef PLANWRIGHT_PLANFMT_STEP_LIST_H_
#define PLANWRIGHT_PLANFMT_STEP_LIST_H_

#include "planfmt/memory.h"
#include "planfmt/nesting.h"
#include "schemas/plan_generated.h"

namespace planwright::planfmt {

class StepList {
 public:
  // Errors: kCorrupt where regions are not bodies of one step each, kResource.
  Status prepare(const plan::Program& program);

  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  const plan::Step& operator[](uint32_t step) const { return *entries_[step].step; }
  const StepNesting& nesting(uint32_t step) const { return nesting_[step]; }
  const StepNesting* nestings() const { return nesting_.data(); }

  // A step has no body, one (a Loop's) or two (an If's).
  uint32_t bodies(uint32_t step) const { return entries_[step].bodies; }
  // Where a body begins and ends; body 1 only of a step that has two.
  uint32_t body_begin(uint32_t step, uint32_t body) const { return body == 0 ? step + 1 : entries_[step].second; }
  uint32_t body_end(uint32_t step, uint32_t body) const { return body == 0 ? entries_[step].second : end(step); }
  // The step after the last of its bodies: the next one of its own region.
  uint32_t end(uint32_t step) const { return nesting_[step].end; }

  // Whether `step` can rely on `earlier` having run, or on being in its body: what a step with bodies makes known is
  // known inside only.
  bool follows(uint32_t step, uint32_t earlier) const;

 private:
  struct Entry {
    const plan::Step* step;
    uint32_t bodies, second;
  };
  void append(const plan::Program& program, uint32_t region, uint32_t owner, uint32_t* count);

  Array<Entry> entries_;
  Array<StepNesting> nesting_;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_STEP_LIST_H_
