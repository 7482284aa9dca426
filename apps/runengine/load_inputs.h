// Inputs from files (--loadInputs).
#ifndef PLANWRIGHT_APPS_RUNENGINE_LOAD_INPUTS_H_
#define PLANWRIGHT_APPS_RUNENGINE_LOAD_INPUTS_H_

#include <string>
#include <utility>
#include <vector>

#include "apps/common/inference.h"

namespace planwright::apps {

// The inputs that `files` name, read from .npy (whose type must be the input's; its dims are the input's shape unless
// `shapes` says otherwise, then they must agree) or from raw bytes of the shape in `shapes` or the profile's opt;
// random data for the others. `*profile` is the one to use (-1: the tightest that holds them) and becomes the one that
// was chosen. Throws UsageError, Error.
Tensors load_inputs(const pw::Engine& engine, const std::vector<std::pair<std::string, std::string>>& files,
                    const std::vector<ShapeSpec>& shapes, int* profile);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_RUNENGINE_LOAD_INPUTS_H_
