#include "apps/buildengine/profiles.h"

#include <fmt/format.h>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

using Dims = std::vector<int64_t>;

std::string format_declared(const builder::TensorDecl& input) {
  std::string text;
  for (const int64_t dim : input.dims) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

// Refuses dims that the declaration excludes.
void check_against(const builder::TensorDecl& input, const Dims& dims, const char* flag) {
  if (!input.has_shape) return;
  bool fits = dims.size() == input.dims.size();
  for (size_t axis = 0; fits && axis < dims.size(); ++axis)
    fits = input.dims[axis] < 0 || dims[axis] == input.dims[axis];
  if (fits) return;
  throw UsageError(fmt::format("{}: input '{}' is {} in the model; {} does not fit", flag, input.name,
                               format_declared(input), format_dims(dims)));
}

void check_order(const builder::ShapeRange& range) {
  for (size_t axis = 0; axis < range.opt.size(); ++axis) {
    if (range.min[axis] <= range.opt[axis] && range.opt[axis] <= range.max[axis]) continue;
    throw UsageError(fmt::format("input '{}': min {}, opt {}, max {} are not in order at axis {}", range.input,
                                 format_dims(range.min), format_dims(range.opt), format_dims(range.max), axis));
  }
}

// The dims of one part, from what was given for it or else for the others, first come first served.
Dims fill(const builder::TensorDecl& input, const char* part,
          std::initializer_list<std::pair<const char*, const ShapeSpec*>> given, std::vector<std::string>* notes) {
  for (const auto& [from, spec] : given) {
    if (spec == nullptr) continue;
    if (std::string_view(from) != part) {
      notes->push_back(fmt::format("input '{}' has no {} shape: its {} shape {} is taken", input.name, part, from,
                                   format_dims(spec->dims)));
    }
    return spec->dims;
  }
  return {};
}

builder::ShapeRange resolve_input(const builder::TensorDecl& input, const ShapeFlags& flags,
                                  std::vector<std::string>* notes) {
  const ShapeSpec* fixed = find_shape(flags.fixed, input.name);
  const ShapeSpec* min = find_shape(flags.min, input.name);
  const ShapeSpec* opt = find_shape(flags.opt, input.name);
  const ShapeSpec* max = find_shape(flags.max, input.name);
  const std::pair<const char*, const ShapeSpec*> parts[] = {
      {"--shapes", fixed}, {"--minShapes", min}, {"--optShapes", opt}, {"--maxShapes", max}};
  for (const auto& [flag, spec] : parts) {
    if (spec != nullptr) check_against(input, spec->dims, flag);
  }
  if (fixed != nullptr) {
    if (min != nullptr || opt != nullptr || max != nullptr) {
      throw UsageError(
          fmt::format("input '{}' has both --shapes and a min, opt or max shape in one profile", input.name));
    }
    return {input.name, fixed->dims, fixed->dims, fixed->dims};
  }
  if (min == nullptr && opt == nullptr && max == nullptr) {
    if (input.is_static()) return {input.name, input.dims, input.dims, input.dims};
    throw UsageError(
        fmt::format("input '{0}' is dynamic ({1}): add --shapes='{0}':{1} with numbers for each ?, or "
                    "--minShapes, --optShapes and --maxShapes",
                    input.name, input.has_shape ? format_declared(input) : "of unknown rank"));
  }
  builder::ShapeRange range{input.name, fill(input, "min", {{"min", min}, {"opt", opt}, {"max", max}}, notes),
                            fill(input, "opt", {{"opt", opt}, {"max", max}, {"min", min}}, notes),
                            fill(input, "max", {{"max", max}, {"opt", opt}, {"min", min}}, notes)};
  if (range.min.size() != range.opt.size() || range.opt.size() != range.max.size()) {
    throw UsageError(fmt::format("input '{}': min {}, opt {}, max {} have different ranks", input.name,
                                 format_dims(range.min), format_dims(range.opt), format_dims(range.max)));
  }
  check_order(range);
  return range;
}

}  // namespace

std::vector<builder::Profile> resolve_profiles(const std::vector<builder::TensorDecl>& inputs,
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
    for (const builder::TensorDecl& input : inputs) profile.inputs.push_back(resolve_input(input, one, notes));
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
