// What to fill a computed operand with, so that every operator runs on it as it would in a model.
#ifndef PLANWRIGHT_TACTICS_RANDOM_OPERAND_H_
#define PLANWRIGHT_TACTICS_RANDOM_OPERAND_H_

#include <cstdint>

#include "tactics/step_spec.h"

namespace planwright::tactics {

// Fills input `index` of `spec` at `view` (the spec's view, with data), drawing from `seed`. Floats are normally
// distributed. Operands that the operator uses as indices or lengths are in range; those of a scatter name each place
// at most once, so that the result does not hang on the order of writes.
void fill_operand(const StepSpec& spec, int index, const TensorView& view, uint64_t seed);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_RANDOM_OPERAND_H_
