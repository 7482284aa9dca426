#include "loader/input_shapes.h"

#include <cstdio>

#include "loader/engine.h"
#include "schemas/types/checked.h"

namespace planwright::loader {
namespace {

// "1x3x224x224"; "scalar" without dims.
struct DimsText {
  char text[PW_MAX_RANK * 21 + 8] = "scalar";

  template <typename Dim>
  DimsText(size_t rank, const Dim& dim) {
    int used = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      used += snprintf(text + used, sizeof text - static_cast<size_t>(used), "%s%lld", axis > 0 ? "x" : "",
                       static_cast<long long>(dim(axis)));
    }
  }
};

DimsText text_of(const flatbuffers::Vector<int64_t>& dims) {
  return DimsText(dims.size(), [&](size_t axis) { return dims.Get(static_cast<uint32_t>(axis)); });
}

bool is_fixed(const plan::ShapeRange& range) {
  for (uint32_t axis = 0; axis < range.min()->size(); ++axis) {
    if (range.min()->Get(axis) != range.max()->Get(axis)) return false;
  }
  return true;
}

// Elements of all inputs at the profile's max; UINT64_MAX where that overflows.
uint64_t max_elements(const plan::Profile& profile) {
  uint64_t total = 0;
  for (const plan::ShapeRange* range : *profile.inputs()) {
    uint64_t elements = 1;
    for (const int64_t dim : *range->max()) {
      if (!checked_mul(elements, static_cast<uint64_t>(dim), &elements)) return UINT64_MAX;
    }
    if (!checked_add(total, elements, &total)) return UINT64_MAX;
  }
  return total;
}

}  // namespace

Status InputShapes::prepare(const pw_engine& engine, int32_t only) {
  engine_ = &engine;
  only_ = only;
  PW_RETURN_IF_ERROR(shapes_.allocate(engine.input_count));
  PW_RETURN_IF_ERROR(flags_.allocate(engine.input_count));
  const auto& profiles = *engine.plan().profiles();
  for (uint32_t input = 0; input < engine.input_count; ++input) {
    const plan::ShapeRange& first = *profiles.Get(only < 0 ? 0 : static_cast<uint32_t>(only))->inputs()->Get(input);
    planfmt::Shape& shape = shapes_[input];
    shape.rank = static_cast<int32_t>(first.min()->size());
    for (uint32_t axis = 0; axis < first.min()->size(); ++axis) shape.dims[axis] = first.min()->Get(axis);
    bool fixed = true;
    for (uint32_t profile = 0; profile < profiles.size() && fixed; ++profile) {
      if (!is_allowed(profile)) continue;
      fixed = is_fixed(*profiles.Get(profile)->inputs()->Get(input)) && holds(profile, input, shape.dims);
    }
    flags_[input] = {.known = fixed, .fixed = fixed, .fresh = false};
  }
  return kOkStatus;
}

InputShapes::Input InputShapes::get(uint32_t input) const {
  return {shapes_[input], flags_[input].known, flags_[input].fixed, flags_[input].fresh};
}

void InputShapes::put(uint32_t input, const Input& state) {
  shapes_[input] = state.shape;
  flags_[input] = {state.known, state.fixed, state.fresh};
}

bool InputShapes::holds(uint32_t profile, uint32_t input, const int64_t* dims) const {
  const plan::ShapeRange& range = *engine_->plan().profiles()->Get(profile)->inputs()->Get(input);
  for (uint32_t axis = 0; axis < range.min()->size(); ++axis) {
    if (dims[axis] < range.min()->Get(axis) || dims[axis] > range.max()->Get(axis)) return false;
  }
  return true;
}

bool InputShapes::are_up_to_opt(uint32_t profile) const {
  const auto& ranges = *engine_->plan().profiles()->Get(profile)->inputs();
  for (uint32_t input = 0; input < shapes_.size(); ++input) {
    const auto& opt = *ranges.Get(input)->opt();
    for (uint32_t axis = 0; axis < opt.size(); ++axis) {
      if (shapes_[input].dims[axis] > opt.Get(axis)) return false;
    }
  }
  return true;
}

// Says what would have been taken: the range of the profile that may be used, or of the first.
Status InputShapes::refuse(uint32_t input, const int64_t* dims) const {
  const plan::Plan& plan = engine_->plan();
  const uint32_t profile = only_ < 0 ? 0 : static_cast<uint32_t>(only_);
  const plan::ShapeRange& range = *plan.profiles()->Get(profile)->inputs()->Get(input);
  const DimsText shape(range.min()->size(), [&](size_t axis) { return dims[axis]; });
  return error(StatusCode::kInvalid, "input %s cannot be %s: %s %u holds %s to %s%s",
               plan.bindings()->Get(input)->name()->c_str(), shape.text, "profile", profile, text_of(*range.min()).text,
               text_of(*range.max()).text,
               only_ < 0 && plan.profiles()->size() > 1 ? ", and no other profile holds it either" : "");
}

Status InputShapes::set(uint32_t input, const int64_t* dims, size_t rank) {
  planfmt::Shape& shape = shapes_[input];
  if (rank != static_cast<size_t>(shape.rank)) {
    return error(StatusCode::kInvalid, "input %s has %d dims, not %zu",
                 engine_->plan().bindings()->Get(input)->name()->c_str(), shape.rank, rank);
  }
  bool held = false;
  for (uint32_t profile = 0; profile < engine_->plan().profiles()->size() && !held; ++profile) {
    held = is_allowed(profile) && holds(profile, input, dims);
  }
  if (!held) return refuse(input, dims);
  for (size_t axis = 0; axis < rank; ++axis) shape.dims[axis] = dims[axis];
  flags_[input].known = flags_[input].fresh = true;
  return kOkStatus;
}

bool InputShapes::is_same(uint32_t input, const int64_t* dims, size_t rank) const {
  const planfmt::Shape& shape = shapes_[input];
  if (!flags_[input].known || rank != static_cast<size_t>(shape.rank)) return false;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] != shape.dims[axis]) return false;
  }
  return true;
}

int64_t InputShapes::first_missing() const {
  for (size_t i = 0; i < flags_.size(); ++i) {
    if (!flags_[i].known) return static_cast<int64_t>(i);
  }
  return -1;
}

bool InputShapes::all_fresh() const {
  for (const Flags& flags : flags_) {
    if (!flags.fresh && !flags.fixed) return false;
  }
  return true;
}

void InputShapes::settle() {
  for (Flags& flags : flags_) flags.fresh = false;
}

Status InputShapes::pick_profile(uint32_t* profile) const {
  const plan::Plan& plan = engine_->plan();
  uint64_t fewest = 0;
  bool found = false;
  for (uint32_t candidate = 0; candidate < plan.profiles()->size(); ++candidate) {
    bool held = is_allowed(candidate);
    for (uint32_t input = 0; input < shapes_.size() && held; ++input) {
      held = holds(candidate, input, shapes_[input].dims);
    }
    if (!held) continue;
    const uint64_t elements = max_elements(*plan.profiles()->Get(candidate));
    if (found && elements >= fewest) continue;
    fewest = elements;
    *profile = candidate;
    found = true;
  }
  if (found) return kOkStatus;
  return error(StatusCode::kInvalid, "no profile holds the shapes of all inputs at once");
}

}  // namespace planwright::loader
