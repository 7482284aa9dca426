// How far an engine's outputs are from those in fp32.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_DROP_H_
#define PLANWRIGHT_APPS_BUILDENGINE_DROP_H_

#include <string>

#include "apps/common/inference.h"

namespace planwright::apps {

struct Drop {
  // The larger of 1 - cosine and half the square of the relative error (root of summed squared differences): of small
  // errors at a right angle to what is wanted both are the same. 1 at most, and where there is no number.
  double value = 0;
  std::string output;  // the one that is furthest off; empty where none could be compared
};

// Of the output that is furthest off. Indices, what data gave other dims, and outputs that are not numbers in fp32
// either, say nothing.
Drop drop_between(const Tensors& got, const Tensors& want);

inline const Drop& worse(const Drop& a, const Drop& b) {
  return a.output.empty() || (!b.output.empty() && b.value > a.value) ? b : a;
}

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_DROP_H_
