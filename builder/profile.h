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
};

// One range for each input of the model, in its order (static inputs too: min = opt = max).
struct Profile {
  std::vector<ShapeRange> inputs;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PROFILE_H_
