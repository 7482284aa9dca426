// Optimisation profiles: the shapes an engine is built for.
#ifndef PLANWRIGHT_BUILDER_PROFILE_H_
#define PLANWRIGHT_BUILDER_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planwright::builder {

struct ShapeRange {
  std::string input;
  std::vector<int64_t> min, opt, max;  // min <= opt <= max in every dim
  // The same for the contents of a shape input, a tensor of constant dims and at most 64 elements whose values decide
  // shapes: one an element, row-major. All empty where nothing is said of them. Only those of int32 and int64 inputs
  // may have a range; of other types they are the elements' bytes, zero-extended, and min = opt = max.
  std::vector<int64_t> value_min = {}, value_opt = {}, value_max = {};
};

// One range for each input of the model, in its order (static inputs too: min = opt = max).
struct Profile {
  std::vector<ShapeRange> inputs;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PROFILE_H_
