#include "apps/common/input_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"

namespace planwright::apps {
namespace {

std::vector<std::string> input_names(const pw::Engine& engine) {
  std::vector<std::string> names;
  for (const pw_binding& binding : engine.bindings()) {
    if (binding.is_input != 0) names.push_back(binding.name);
  }
  return names;
}

bool holds(const ProfileRanges& profile, const InputShapes& shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [&](const auto& shape) {
    const auto range = profile.find(shape.first);
    if (range == profile.end() || range->second.min.size() != shape.second.size()) return false;
    for (size_t axis = 0; axis < shape.second.size(); ++axis) {
      const int64_t dim = shape.second[axis];
      if (dim < range->second.min[axis] || dim > range->second.max[axis]) return false;
    }
    return true;
  });
}

double elements_at_max(const ProfileRanges& profile) {
  double elements = 0;
  for (const auto& [name, range] : profile) {
    double count = 1;
    for (const int64_t dim : range.max) count *= static_cast<double>(dim);
    elements += count;
  }
  return elements;
}

}  // namespace

std::vector<ProfileRanges> profiles_of(const pw::Engine& engine) {
  std::vector<ProfileRanges> profiles(pw_engine_profile_count(engine.get()));
  for (const std::string& name : input_names(engine)) {
    for (size_t i = 0; i < profiles.size(); ++i) {
      InputRange& range = profiles[i][name];
      for (pw::Dims* dims : {&range.min, &range.opt, &range.max}) dims->resize(PW_MAX_RANK);
      size_t rank = PW_MAX_RANK;
      pw::require(pw_engine_profile(engine.get(), i, name.c_str(), range.min.data(), range.opt.data(), range.max.data(),
                                    &rank));
      for (pw::Dims* dims : {&range.min, &range.opt, &range.max}) dims->resize(rank);
    }
  }
  return profiles;
}

InputShapes match_inputs(const pw::Engine& engine, const std::vector<ShapeSpec>& specs) {
  const std::vector<std::string> names = input_names(engine);
  check_names(specs, names, "--shapes");
  InputShapes shapes;
  for (const std::string& name : names) {
    if (const ShapeSpec* spec = find_shape(specs, name)) shapes[name] = spec->dims;
  }
  return shapes;
}

size_t tightest_profile(const std::vector<ProfileRanges>& profiles, const InputShapes& shapes) {
  size_t tightest = 0;
  double fewest = -1;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const double elements = elements_at_max(profiles[i]);
    if (!holds(profiles[i], shapes) || (fewest >= 0 && elements >= fewest)) continue;
    tightest = i;
    fewest = elements;
  }
  return tightest;
}

InputShapes complete_shapes(const pw::Engine& engine, const InputShapes& shapes, int profile) {
  const std::vector<std::string> names = input_names(engine);
  for (const auto& [name, dims] : shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string close = nearest(name, names);
    throw UsageError(fmt::format(
        "the engine has no input '{}'; {}", name,
        close.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", close)));
  }
  const std::vector<ProfileRanges> profiles = profiles_of(engine);
  if (profile >= static_cast<int>(profiles.size())) {
    throw UsageError(fmt::format("--useProfile={}: the engine has {} profiles, 0 to {}", profile, profiles.size(),
                                 profiles.size() - 1));
  }
  const size_t chosen = profile >= 0 ? static_cast<size_t>(profile) : tightest_profile(profiles, shapes);
  InputShapes complete = shapes;
  for (const auto& [name, range] : profiles[chosen]) complete.emplace(name, range.opt);
  return complete;
}

}  // namespace planwright::apps
