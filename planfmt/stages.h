// When the expressions of a plan are known. Most are when shapes are set; those over an input's values, when its buffer
// can be read; those over a step's result, once the step has run.
#ifndef PLANWRIGHT_PLANFMT_STAGES_H_
#define PLANWRIGHT_PLANFMT_STAGES_H_

#include "planfmt/memory.h"
#include "planfmt/step_list.h"
#include "schemas/plan_generated.h"

namespace planwright::planfmt {

using Stage = uint32_t;
inline constexpr Stage kDimsStage = 0;    // once shapes are set
inline constexpr Stage kValuesStage = 1;  // once the values of inputs are read
constexpr Stage result_stage(uint32_t step) { return step + 2; }
constexpr uint32_t step_of(Stage stage) { return stage - 2; }  // only of a result's stage

// Indices, ascending.
struct IndexRange {
  const uint32_t *first, *last;
  const uint32_t* begin() const { return first; }
  const uint32_t* end() const { return last; }
};

// The stages of one program's plan. Needs a plan that verify_shapes() passed and results that verify_program() passed.
class Stages {
 public:
  // kCorrupt where a guard names a body that is not there; kResource.
  Status prepare(const plan::Plan& plan, const plan::Program& program);

  const StepList& steps() const { return steps_; }

  Stage of_expression(uint32_t expression) const { return expressions_[expression]; }
  Stage of_binding(const plan::Binding& binding) const { return latest(*binding.dims()); }
  // When the step's operands, the bindings they lie in, and its scalars are known.
  Stage of_step(const plan::Step& step) const;

  // What becomes known at a stage, and not before.
  IndexRange expressions_at(Stage stage) const { return at(expressions_by_stage_, expressions_, stage); }
  IndexRange guards_at(Stage stage) const { return at(guards_by_stage_, guards_, stage); }
  // Whether a guard is known before it is known whether the body that needs it runs.
  bool is_early(uint32_t guard) const { return is_early_[guard]; }

 private:
  Status find_early();
  static Status sort(const Array<Stage>& stages, Array<uint32_t>* by_stage);
  static IndexRange at(const Array<uint32_t>& by_stage, const Array<Stage>& stages, Stage stage);
  Stage latest(const flatbuffers::Vector<uint32_t>& list) const;
  Stage of_tensors(const flatbuffers::Vector<int32_t>& tensors) const;

  const plan::Plan* plan_ = nullptr;
  const plan::Program* program_ = nullptr;
  StepList steps_;
  Array<Stage> expressions_, guards_;
  Array<bool> is_early_;
  Array<uint32_t> expressions_by_stage_, guards_by_stage_;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_STAGES_H_
