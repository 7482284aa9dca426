// Whether two tactics computed the same.
#ifndef PLANWRIGHT_TACTICS_AGREEMENT_H_
#define PLANWRIGHT_TACTICS_AGREEMENT_H_

#include <string>
#include <vector>

#include "tactics/step_spec.h"

namespace planwright::tactics {

// The outputs' elements as doubles, row-major, one list for each output that is not absent.
using Results = std::vector<std::vector<double>>;
Results results_of(const std::vector<TensorView>& outputs);

// How `actual` differs from `expected` by more than other orders of summation and approximations of exp() explain, as
// words ("output 0: 12 of 4096 elements differ, first at 77: 0.5, expected 0.25"); empty where they agree.
//
// Float elements may be off by 0.1 % of themselves and of the output's root mean square (2 % for 16-bit outputs): a
// wrong tap, tail or epilogue is off by far more on normally distributed data. Integers must be equal; but where the
// step rounds or compares computed floats, 1 % of the elements may fall on the other side. `precision` is the lower of
// the two tactics': of products in bf16 the floats may be off by as much as 16-bit outputs.
std::string disagreement(const StepSpec& spec, const Results& actual, const Results& expected,
                         Precision precision = Precision::kFull);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_AGREEMENT_H_
