// Comparing what an engine computed with what is wanted.
#ifndef PLANWRIGHT_APPS_COMMON_COMPARE_H_
#define PLANWRIGHT_APPS_COMMON_COMPARE_H_

#include <string>

#include "builder/ir/interpret.h"

namespace planwright::apps {

// The first difference between two tensors beyond rtol and atol, in words; empty when they match. Types and dims must
// be equal; NaN matches NaN and an infinity its own sign.
std::string compare(const ir::Tensor& got, const ir::Tensor& want, double rtol, double atol);

// One element as a double: exact but for 64-bit integers past 2^53.
double element_value(const ir::Tensor& tensor, size_t index);

// How far apart two tensors of equal type and dims are as a whole. NaN where either holds one.
struct Distance {
  double cosine = 1;  // of the angle between them
  double l2 = 0;      // root of summed squared differences over that of the wanted values
  double l_inf = 0;   // largest absolute difference
};
Distance distance(const ir::Tensor& got, const ir::Tensor& want);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_COMPARE_H_
