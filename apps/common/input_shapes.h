// The shapes an engine is run at.
#ifndef PLANWRIGHT_APPS_COMMON_INPUT_SHAPES_H_
#define PLANWRIGHT_APPS_COMMON_INPUT_SHAPES_H_

#include <map>
#include <planwright/planwright.hpp>
#include <string>
#include <vector>

#include "apps/common/shape_spec.h"

namespace planwright::apps {

// Dims by input name.
using InputShapes = std::map<std::string, pw::Dims>;

struct InputRange {
  pw::Dims min, opt, max;
};
// One profile of an engine, by input name.
using ProfileRanges = std::map<std::string, InputRange>;

std::vector<ProfileRanges> profiles_of(const pw::Engine& engine);

// The dims that `specs` (--shapes) give to inputs; those that no pattern fits are left out. Throws UsageError for a
// pattern that fits no input.
InputShapes match_inputs(const pw::Engine& engine, const std::vector<ShapeSpec>& specs);

// The profile that holds all of `shapes` and has the fewest elements at max, the lowest of equals; 0 where none holds
// them, so that the loader says which dim is out of range.
size_t tightest_profile(const std::vector<ProfileRanges>& profiles, const InputShapes& shapes);

// A shape for every input: that of `shapes`, else the opt of `profile` (-1: of the tightest that holds `shapes`).
// Throws UsageError for a name that is no input and a profile that is none.
InputShapes complete_shapes(const pw::Engine& engine, const InputShapes& shapes, int profile);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_INPUT_SHAPES_H_
