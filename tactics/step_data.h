// A step's operands in memory, as its run in an engine would find them: real strides, data of a realistic kind.
#ifndef PLANWRIGHT_TACTICS_STEP_DATA_H_
#define PLANWRIGHT_TACTICS_STEP_DATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tactics/guarded_memory.h"
#include "tactics/step_spec.h"

namespace planwright::tactics {

class StepData {
 public:
  // Computed inputs get data drawn from `seed`: floats are normally distributed, operands that an operator uses as
  // indices or lengths are in range. Constants get their own elements. Throws std::bad_alloc.
  StepData(const StepSpec& spec, uint64_t seed);

  // The spec's views, with data.
  const std::vector<TensorView>& inputs() const { return inputs_; }
  const std::vector<TensorView>& outputs() const { return outputs_; }

  // Every byte of the outputs becomes 0xFF (NaN, -1), so that an element nobody writes is seen.
  void poison_outputs();

  // Writes part `part` of `parts` of the computed inputs again, as the step before this one would just have done: they
  // are then in the cache of the core that calls this.
  void rewrite_inputs(int64_t part, int64_t parts);

 private:
  std::vector<TensorView> inputs_, outputs_;
  std::vector<GuardedMemory> computed_inputs_, constants_, output_memory_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_STEP_DATA_H_
