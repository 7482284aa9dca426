// Shapes at run time: a program's expressions, evaluated stage by stage. Needs a plan that verify_shapes() passed;
// every overflow is a status.
#ifndef PLANWRIGHT_PLANFMT_SHAPES_H_
#define PLANWRIGHT_PLANFMT_SHAPES_H_

#include "planfmt/memory.h"
#include "planfmt/stages.h"
#include "schemas/plan_generated.h"
#include "schemas/types/dtype.h"
#include "schemas/types/status.h"

namespace planwright::planfmt {

// The dims of one input binding.
struct Shape {
  int32_t rank = 0;
  int64_t dims[kMaxRank] = {};
};

// Input bindings come first in a plan.
uint32_t input_count(const plan::Plan& plan);

class ShapeValues {
 public:
  // Room for the plan's symbols and expressions, and the program's stages. kResource, kCorrupt (stages).
  Status prepare(const plan::Plan& plan, const plan::Program& program);
  const Stages& stages() const { return stages_; }

  // Takes the symbols that are dims from `inputs` (one for each input binding, of the right rank), evaluates what is
  // known of them and checks that each input has the dims the model gives it. Errors as evaluate().
  Status set_dims(const Shape* inputs);

  // Gives a symbol of a later stage its value.
  void set_symbol(uint32_t symbol, int64_t value) { symbols_[symbol] = value; }
  int64_t symbol(uint32_t symbol) const { return symbols_[symbol]; }

  // Evaluates the expressions of a stage and checks that its guards hold, those aside that only a body needs which may
  // not run. kInvalid, naming the guard's layer, with both values.
  Status evaluate(Stage stage);
  // Before a body runs: that the guards hold which it needs. Errors as evaluate().
  Status check_region(uint32_t region) const;

  // The value of each expression; of a stage not evaluated yet: anything.
  const int64_t* values() const { return values_.data(); }

 private:
  Status check_inputs(const Shape* inputs) const;
  Status check_guards(Stage stage);

  const plan::Plan* plan_ = nullptr;
  Stages stages_;
  Array<int64_t> symbols_, values_;
  Array<bool> is_broken_;  // by guard: does not hold, which only its region must know
  uint32_t broken_count_ = 0;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_SHAPES_H_
