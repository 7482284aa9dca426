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
// Values of shape inputs by name.
using InputValues = std::map<std::string, std::vector<int64_t>>;

struct InputRange {
  pw::Dims min, opt, max;
  std::vector<int64_t> value_min = {}, value_opt = {}, value_max = {};  // empty but for shape inputs
};
// One profile of an engine, by input name.
using ProfileRanges = std::map<std::string, InputRange>;

std::vector<ProfileRanges> profiles_of(const pw::Engine& engine);

// What an engine is run at.
struct RunShapes {
  InputShapes dims;
  InputValues values;
  int profile = -1;  // -1: whichever holds them
};

// What `specs` (--shapes) give to inputs, values to shape inputs; those that no pattern fits are left out. Throws
// UsageError for a pattern that fits no input.
RunShapes match_inputs(const pw::Engine& engine, const std::vector<ShapeSpec>& specs);

// Whether the profile's ranges hold all of these.
bool holds(const ProfileRanges& profile, const InputShapes& dims, const InputValues& values = {});

// The profile that holds all of these and has the fewest elements at max, the lowest of equals; 0 where none holds
// them.
size_t tightest_profile(const std::vector<ProfileRanges>& profiles, const InputShapes& dims,
                        const InputValues& values = {});

// Dims for every input and values for every shape input: the given ones, else the opt of the given profile (-1: of the
// tightest that holds what is given). Throws UsageError for a name that is no input and a profile that is none,
// Error(kInvalid), naming the input and the axis, for what no profile holds.
RunShapes complete_shapes(const pw::Engine& engine, const RunShapes& given);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_INPUT_SHAPES_H_
