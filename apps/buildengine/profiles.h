// From shape flags to optimisation profiles.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_PROFILES_H_
#define PLANWRIGHT_APPS_BUILDENGINE_PROFILES_H_

#include <string>
#include <vector>

#include "apps/common/shape_spec.h"
#include "builder/onnx/model.h"
#include "builder/profile.h"

namespace planwright::apps {

// The shape flags of one profile, as given.
struct ShapeFlags {
  std::vector<ShapeSpec> fixed;  // --shapes
  std::vector<ShapeSpec> min, opt, max;
};

// One profile for each of `flags` (at least one, which may be empty). What is given for an input of `shape_inputs` (of
// the model's: builder::shape_inputs) are its values, but for a list that can only be its dims. A missing part is
// filled as trtexec does (min from opt, else max; opt from max, else min; max from opt, else min) with a note each.
// Throws UsageError: a name that is no input, a shape that contradicts a static input, min > opt or opt > max, a
// dynamic input without shapes.
std::vector<builder::Profile> resolve_profiles(const std::vector<builder::TensorDecl>& inputs,
                                               const std::vector<std::string>& shape_inputs,
                                               const std::vector<ShapeFlags>& flags, std::vector<std::string>* notes);

// For --check without shapes: every dynamic dim from 1 to 1024.
builder::Profile widest_profile(const std::vector<builder::TensorDecl>& inputs);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_PROFILES_H_
