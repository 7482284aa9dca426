#include "apps/common/input_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

std::vector<std::string> input_names(const pw::Engine& engine) {
  std::vector<std::string> names;
  for (const pw_binding& binding : engine.bindings()) {
    if (binding.is_input != 0) names.push_back(binding.name);
  }
  return names;
}

bool is_inside(const std::vector<int64_t>& list, const std::vector<int64_t>& min, const std::vector<int64_t>& max) {
  if (list.size() != min.size()) return false;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < min[i] || list[i] > max[i]) return false;
  }
  return true;
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

std::string range_text(int64_t min, int64_t max) {
  return min == max ? fmt::format("is fixed at {}", min) : fmt::format("goes from {} to {}", min, max);
}

// Says which axis or value of which input the profile does not hold.
[[noreturn]] void throw_not_held(const ProfileRanges& profile, size_t index, size_t profiles, const RunShapes& given) {
  const std::string where = profiles == 1 ? "in the engine" : fmt::format("in profile {}", index);
  const std::string end = profiles > 1 && given.profile < 0 ? "; no other profile holds everything given either" : "";
  const auto refuse = [](const std::string& what) { throw Error(StatusCode::kInvalid, what); };
  for (const auto& [name, dims] : given.dims) {
    const InputRange& range = profile.at(name);
    if (dims.size() != range.min.size()) {
      refuse(fmt::format("input '{}' cannot be {}: it has {} dimension{}, not {}", name, format_dims(dims),
                         range.min.size(), range.min.size() == 1 ? "" : "s", dims.size()));
    }
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] >= range.min[axis] && dims[axis] <= range.max[axis]) continue;
      refuse(fmt::format("input '{}' cannot be {}: axis {} {} {}{}", name, format_dims(dims), axis,
                         range_text(range.min[axis], range.max[axis]), where, end));
    }
  }
  for (const auto& [name, values] : given.values) {
    const InputRange& range = profile.at(name);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= range.value_min[i] && values[i] <= range.value_max[i]) continue;
      refuse(fmt::format("shape input '{}' cannot be {}: value {} {} {}{}", name, format_values(values), i,
                         range_text(range.value_min[i], range.value_max[i]), where, end));
    }
  }
  throw Error(StatusCode::kInvalid, "no profile of the engine holds these shapes together");
}

void check_input(const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string close = nearest(name, names);
  throw UsageError(fmt::format(
      "the engine has no input '{}'; {}", name,
      close.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", close)));
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
      for (auto* values : {&range.value_min, &range.value_opt, &range.value_max}) values->resize(PW_MAX_VALUES);
      size_t count = PW_MAX_VALUES;
      pw::require(pw_engine_profile_values(engine.get(), i, name.c_str(), range.value_min.data(),
                                           range.value_opt.data(), range.value_max.data(), &count));
      for (auto* values : {&range.value_min, &range.value_opt, &range.value_max}) values->resize(count);
    }
  }
  return profiles;
}

RunShapes match_inputs(const pw::Engine& engine, const std::vector<ShapeSpec>& specs) {
  check_names(specs, input_names(engine), "--shapes");
  RunShapes shapes;
  const std::vector<ProfileRanges> profiles = profiles_of(engine);
  for (const auto& [name, range] : profiles.front()) {
    const ShapeSpec* spec = find_shape(specs, name);
    if (spec == nullptr) continue;
    // The dims of a shape input are constant, so what is given for it are values, unless it can only be the dims.
    if (!range.value_opt.empty() && spec->dims.size() == range.value_opt.size()) {
      shapes.values[name] = spec->dims;
    } else {
      check_dims(*spec, "--shapes");
      shapes.dims[name] = spec->dims;
    }
  }
  return shapes;
}

bool holds(const ProfileRanges& profile, const InputShapes& dims, const InputValues& values) {
  return std::all_of(dims.begin(), dims.end(),
                     [&](const auto& shape) {
                       const auto range = profile.find(shape.first);
                       return range != profile.end() && is_inside(shape.second, range->second.min, range->second.max);
                     }) &&
         std::all_of(values.begin(), values.end(), [&](const auto& given) {
           const auto range = profile.find(given.first);
           return range != profile.end() && is_inside(given.second, range->second.value_min, range->second.value_max);
         });
}

size_t tightest_profile(const std::vector<ProfileRanges>& profiles, const InputShapes& dims,
                        const InputValues& values) {
  size_t tightest = 0;
  double fewest = -1;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const double elements = elements_at_max(profiles[i]);
    if (!holds(profiles[i], dims, values) || (fewest >= 0 && elements >= fewest)) continue;
    tightest = i;
    fewest = elements;
  }
  return tightest;
}

RunShapes complete_shapes(const pw::Engine& engine, const RunShapes& given) {
  const std::vector<std::string> names = input_names(engine);
  for (const auto& [name, dims] : given.dims) check_input(name, names);
  for (const auto& [name, values] : given.values) check_input(name, names);
  const std::vector<ProfileRanges> profiles = profiles_of(engine);
  if (given.profile >= static_cast<int>(profiles.size())) {
    throw UsageError(profiles.size() == 1 ? fmt::format("--useProfile={}: the engine has one profile, 0", given.profile)
                                          : fmt::format("--useProfile={}: the engine has {} profiles, 0 to {}",
                                                        given.profile, profiles.size(), profiles.size() - 1));
  }
  const size_t chosen =
      given.profile >= 0 ? static_cast<size_t>(given.profile) : tightest_profile(profiles, given.dims, given.values);
  const ProfileRanges& profile = profiles[chosen];
  if (!holds(profile, given.dims, given.values)) throw_not_held(profile, chosen, profiles.size(), given);
  RunShapes complete = given;
  complete.profile = static_cast<int>(chosen);
  for (const auto& [name, range] : profile) {
    complete.dims.emplace(name, range.opt);
    if (!range.value_opt.empty()) complete.values.emplace(name, range.value_opt);
  }
  return complete;
}

}  // namespace planwright::apps
