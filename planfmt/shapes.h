// Shapes at run time: the plan's expressions evaluated for the inputs' dims. Needs a plan that verify_shapes() passed;
// every overflow is a status.
#ifndef PLANWRIGHT_PLANFMT_SHAPES_H_
#define PLANWRIGHT_PLANFMT_SHAPES_H_

#include "planfmt/memory.h"
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
  // Room for the plan's symbols and expressions. kResource.
  Status prepare(const plan::Plan& plan);

  // Takes the symbols from `inputs` (one for each input binding, of the right rank), evaluates every expression, checks
  // that each input has the dims the model gives it and that the guards hold. kInvalid, naming the input or the guard's
  // layer, with both values.
  Status evaluate(const plan::Plan& plan, const Shape* inputs);

  // The value of each expression of the last evaluate().
  const int64_t* values() const { return values_.data(); }

 private:
  Array<int64_t> symbols_, values_;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_SHAPES_H_
