#include "apps/buildengine/profiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

using Dims = std::vector<int64_t>;

// Refuses dims that the declaration excludes, naming the first axis that does not fit.
void check_against(const builder::TensorDecl& input, const Dims& dims, const char* flag) {
  check_dims({input.name, dims}, flag);
  if (!input.has_shape) return;
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}: input '{}' is {} in the model; {} does not fit: {}", flag, input.name,
                                 format_dims(input.dims), format_dims(dims), why));
  };
  if (dims.size() != input.dims.size()) {
    refuse(fmt::format("it has {} dimension{}, not {}", input.dims.size(), input.dims.size() == 1 ? "" : "s",
                       dims.size()));
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (input.dims[axis] < 0 || dims[axis] == input.dims[axis]) continue;
    const bool is_batch = axis == 0 && dims.size() > 1;
    refuse(fmt::format("{} is fixed at {}; export the model with it dynamic to have {}",
                       is_batch ? "the model's batch (axis 0)" : fmt::format("axis {}", axis), input.dims[axis],
                       dims[axis]));
  }
}

// One input's numbers of a profile, dims or values, in the words of messages.
struct Kind {
  const char* name;   // "shape"
  const char* place;  // "axis"
  std::string (*format)(const std::vector<int64_t>&);
};
constexpr Kind kDims{"shape", "axis", format_dims}, kValues{"values", "value", format_values};

struct Range {
  std::vector<int64_t> min, opt, max;
};

// The numbers of one part, from what was given for it or else for the others, first come first served.
std::vector<int64_t> fill(const std::string& input, const Kind& kind, const char* part,
                          std::initializer_list<std::pair<const char*, const ShapeSpec*>> given,
                          std::vector<std::string>* notes) {
  for (const auto& [from, spec] : given) {
    if (spec == nullptr) continue;
    if (std::string_view(from) != part) {
      notes->push_back(fmt::format("input '{0}' has no {1} {2}: its {3} {2} {4} {5} taken", input, part, kind.name,
                                   from, kind.format(spec->dims), &kind == &kDims ? "is" : "are"));
    }
    return spec->dims;
  }
  return {};
}

void check_order(const std::string& input, const Kind& kind, const Range& range) {
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("input '{}': min {}, opt {}, max {} {}", input, kind.format(range.min),
                                 kind.format(range.opt), kind.format(range.max), what));
  };
  if (range.min.size() != range.opt.size() || range.opt.size() != range.max.size()) refuse("have different ranks");
  for (size_t i = 0; i < range.opt.size(); ++i) {
    if (range.min[i] <= range.opt[i] && range.opt[i] <= range.max[i]) continue;
    refuse(fmt::format("are not in order at {} {}", kind.place, i));
  }
}

// What one profile's flags give one input.
struct Given {
  const ShapeSpec *fixed = nullptr, *min = nullptr, *opt = nullptr, *max = nullptr;
  bool any() const { return fixed != nullptr || min != nullptr || opt != nullptr || max != nullptr; }
  std::vector<std::pair<const char*, const ShapeSpec*>> parts() const {
    std::vector<std::pair<const char*, const ShapeSpec*>> list;
    for (const auto& part : {std::pair("--shapes", fixed), std::pair("--minShapes", min), std::pair("--optShapes", opt),
                             std::pair("--maxShapes", max)}) {
      if (part.second != nullptr) list.push_back(part);
    }
    return list;
  }
};

Range resolve(const std::string& input, const Kind& kind, const Given& given, std::vector<std::string>* notes) {
  if (given.fixed != nullptr) {
    if (given.parts().size() > 1) {
      throw UsageError(fmt::format("input '{}' has both --shapes and a min, opt or max shape in one profile", input));
    }
    return {given.fixed->dims, given.fixed->dims, given.fixed->dims};
  }
  const Range range{fill(input, kind, "min", {{"min", given.min}, {"opt", given.opt}, {"max", given.max}}, notes),
                    fill(input, kind, "opt", {{"opt", given.opt}, {"max", given.max}, {"min", given.min}}, notes),
                    fill(input, kind, "max", {{"max", given.max}, {"opt", given.opt}, {"min", given.min}}, notes)};
  check_order(input, kind, range);
  return range;
}

// Whether what is given for a shape input are its values. Its dims are constant and need not be given; a list that is
// these dims and not as many numbers as there are values can only be them.
bool gives_values(const builder::TensorDecl& input, const Given& given) {
  int64_t count = 1;
  for (const int64_t dim : input.dims) count *= dim;
  bool all_values = true, all_dims = true;
  for (const auto& [flag, spec] : given.parts()) {
    all_values = all_values && static_cast<int64_t>(spec->dims.size()) == count;
    all_dims = all_dims && spec->dims == input.dims;
  }
  if (all_values || all_dims) return all_values;
  const auto [flag, spec] = given.parts().front();
  throw UsageError(fmt::format("{}: input '{}' takes {} value{}, which decide shapes; '{}' is {}", flag, input.name,
                               count, count == 1 ? "" : "s", format_values(spec->dims), spec->dims.size()));
}

builder::ShapeRange resolve_input(const builder::TensorDecl& input, bool is_shape_input, const ShapeFlags& flags,
                                  std::vector<std::string>* notes) {
  const Given given{find_shape(flags.fixed, input.name), find_shape(flags.min, input.name),
                    find_shape(flags.opt, input.name), find_shape(flags.max, input.name)};
  if (!given.any()) {
    if (is_shape_input) {
      notes->push_back(
          fmt::format("the values of input '{0}' may decide shapes: give their range as you give shapes, for "
                      "example --shapes={0}:2x3 for 2 and 3",
                      input.name));
    }
    if (input.is_static()) return {input.name, input.dims, input.dims, input.dims};
    throw UsageError(
        fmt::format("input '{0}' is dynamic ({1}): add --shapes='{0}':{1} with numbers for each ?, or "
                    "--minShapes, --optShapes and --maxShapes",
                    input.name, input.has_shape ? format_dims(input.dims) : "of unknown rank"));
  }
  if (is_shape_input && gives_values(input, given)) {
    const Range values = resolve(input.name, kValues, given, notes);
    return {input.name, input.dims, input.dims, input.dims, values.min, values.opt, values.max};
  }
  for (const auto& [flag, spec] : given.parts()) check_against(input, spec->dims, flag);
  const Range dims = resolve(input.name, kDims, given, notes);
  if (std::find(dims.opt.begin(), dims.opt.end(), 0) != dims.opt.end()) {
    notes->push_back(fmt::format("input '{}' is empty at its opt shape {}: tactics are not tuned for any work",
                                 input.name, format_dims(dims.opt)));
  }
  return {input.name, dims.min, dims.opt, dims.max};
}

}  // namespace

std::vector<builder::Profile> resolve_profiles(const std::vector<builder::TensorDecl>& inputs,
                                               const std::vector<std::string>& shape_inputs,
                                               const std::vector<ShapeFlags>& flags, std::vector<std::string>* notes) {
  std::vector<std::string> names;
  for (const builder::TensorDecl& input : inputs) names.push_back(input.name);
  std::vector<builder::Profile> profiles;
  for (const ShapeFlags& one : flags) {
    check_names(one.fixed, names, "--shapes");
    check_names(one.min, names, "--minShapes");
    check_names(one.opt, names, "--optShapes");
    check_names(one.max, names, "--maxShapes");
    builder::Profile& profile = profiles.emplace_back();
    for (const builder::TensorDecl& input : inputs) {
      const bool is_shape_input = std::find(shape_inputs.begin(), shape_inputs.end(), input.name) != shape_inputs.end();
      profile.inputs.push_back(resolve_input(input, is_shape_input, one, notes));
    }
  }
  return profiles;
}

builder::Profile widest_profile(const std::vector<builder::TensorDecl>& inputs) {
  builder::Profile profile;
  for (const builder::TensorDecl& input : inputs) {
    builder::ShapeRange range{input.name, input.dims, input.dims, input.dims};
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis] >= 0) continue;
      range.min[axis] = 1;
      range.opt[axis] = 64;
      range.max[axis] = 1024;
    }
    profile.inputs.push_back(std::move(range));
  }
  return profile;
}

}  // namespace planwright::apps
