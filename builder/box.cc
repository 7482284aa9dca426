#include "builder/box.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Guard;

void check_range(const Graph& graph, size_t input, const ShapeRange& range) {
  const ir::Value& value = graph.value(graph.inputs[input]);
  const size_t rank = value.dims.size();
  if (range.min.size() != rank || range.opt.size() != rank || range.max.size() != rank) {
    throw Error(StatusCode::kInvalid,
                fmt::format("input {} has {} dims; its profile gives {}", value.name, rank, range.opt.size()));
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    if (range.min[axis] < 0 || range.min[axis] > range.opt[axis] || range.opt[axis] > range.max[axis]) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("input {}, axis {}: min {}, opt {}, max {} are not in ascending order", value.name, axis,
                              range.min[axis], range.opt[axis], range.max[axis]));
    }
    const Dim dim = value.dims[axis];
    if (dim.is_constant() && (range.min[axis] != dim.constant() || range.max[axis] != dim.constant())) {
      throw Error(StatusCode::kInvalid, fmt::format("input {}, axis {} is {}; its profile gives {} to {}", value.name,
                                                    axis, dim.constant(), range.min[axis], range.max[axis]));
    }
  }
}

bool depends_on_results(const Graph& graph, const Guard& guard) {
  const std::vector<int> used = ir::symbols_of({guard.left, guard.right});
  return std::any_of(used.begin(), used.end(), [&](int index) {
    return graph.expr_pool()->symbols()[static_cast<size_t>(index)].origin == ir::SymbolOrigin::kStepResult;
  });
}

bool holds(const Guard& guard, const SymbolValues& values) {
  const int64_t left = evaluate_at(guard.left, values), right = evaluate_at(guard.right, values);
  return guard.equal ? left == right : left <= right;
}

// Of guards over step results nothing is known before a run. Those of branches count where they are asked for.
const Guard* broken_guard(const Graph& graph, const SymbolValues& values, bool of_branches) {
  for (const Guard& guard : graph.guards) {
    if (guard.branch >= 0 && !of_branches) continue;
    if (!depends_on_results(graph, guard) && !holds(guard, values)) return &guard;
  }
  return nullptr;
}

// Inputs that share a dimension: the shapes to tune for must agree on it.
void check_shared_dims(const Graph& graph, const Profile& profile, const SymbolValues& opt) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::Value& value = graph.value(graph.inputs[i]);
    for (size_t axis = 0; axis < value.dims.size(); ++axis) {
      const int64_t shared = evaluate_at(value.dims[axis], opt), given = profile.inputs[i].opt[axis];
      if (shared == given) continue;
      throw Error(StatusCode::kInvalid,
                  fmt::format("input {}, axis {} is {} in every input that has it, {} by the profile's opt shapes "
                              "elsewhere, {} here; give one length with --optShapes or --shapes",
                              value.name, axis, to_string(value.dims[axis]), shared, given));
    }
  }
}

[[noreturn]] void refuse_shapes(const char* part, const Guard& guard, const SymbolValues& values,
                                const std::string& advice) {
  throw Error(
      StatusCode::kInvalid,
      fmt::format("the profile's {} shapes do not fit layer {}: {} ({} {} {}, {} and {} there); {}", part, guard.layer,
                  guard.reason, to_string(guard.left), guard.equal ? "=" : "<=", to_string(guard.right),
                  evaluate_at(guard.left, values), evaluate_at(guard.right, values), advice));
}

void check_guards_at_opt(const Graph& graph, const SymbolValues& opt) {
  if (const Guard* guard = broken_guard(graph, opt, true)) {
    refuse_shapes("opt", *guard, opt, "choose others with --optShapes or --shapes");
  }
}

// How far a size is raised in search of one that a guard lets through.
constexpr int64_t kMostTried = 1 << 16;

// Which input's size must be how large for the guard to hold, the others staying as they are; "" where none does it.
std::string smallest_that_fits(const Graph& graph, const Guard& guard, SymbolValues values, const SymbolValues& max) {
  for (const int index : ir::symbols_of({guard.left, guard.right})) {
    const auto at = static_cast<size_t>(index);
    const int64_t least = values[at];
    int64_t most;
    if (!checked_add(least, kMostTried, &most) || most > max[at]) most = max[at];
    while (values[at] < most && !holds(guard, values)) ++values[at];
    if (holds(guard, values)) {
      const ir::Symbol& symbol = graph.expr_pool()->symbols()[at];
      const bool is_dim = symbol.origin == ir::SymbolOrigin::kInputDim;
      return fmt::format(
          "input {} needs at least {} {} {}: ", graph.value(graph.inputs[static_cast<size_t>(symbol.source)]).name,
          values[at], is_dim ? "at axis" : "as value", symbol.element);
    }
    values[at] = least;
  }
  return "";
}

// What is too small to run is no part of a profile. Sizes that must agree may do so further up: there the loader tells.
void check_guards_at_min(const Graph& graph, const SymbolValues& min, const SymbolValues& max) {
  for (const Guard& guard : graph.guards) {
    if (guard.equal || guard.branch >= 0 || depends_on_results(graph, guard) || holds(guard, min)) continue;
    refuse_shapes("min", guard, min, smallest_that_fits(graph, guard, min, max) + "raise it with --minShapes");
  }
}

}  // namespace

Box::Box(const Graph& graph, const Profile& profile) : guards_(graph.guards) {
  if (profile.inputs.size() != graph.inputs.size()) {
    throw Error(StatusCode::kInvalid, fmt::format("the model has {} inputs; the profile gives shapes for {}",
                                                  graph.inputs.size(), profile.inputs.size()));
  }
  for (size_t i = 0; i < profile.inputs.size(); ++i) check_range(graph, i, profile.inputs[i]);

  SymbolValues min, max;
  for (const ir::Symbol& symbol : graph.expr_pool()->symbols()) {
    // Without a range nothing that is built depends on it (build.cc refuses what does), so any value will do.
    int64_t low = 0, middle = 0, high = 0;
    if (symbol.origin == ir::SymbolOrigin::kStepResult) {
      // Tuned for as much as there can be, where that is known.
      low = symbol.min;
      high = symbol.bound ? upper_bound(*symbol.bound) : symbol.max;
      middle = symbol.bound ? evaluate_at(*symbol.bound, opt_) : symbol.max;
    } else {
      const ShapeRange& range = profile.inputs[static_cast<size_t>(symbol.source)];
      const auto element = static_cast<size_t>(symbol.element);
      const bool is_dim = symbol.origin == ir::SymbolOrigin::kInputDim;
      if (is_dim || !range.value_opt.empty()) {
        low = (is_dim ? range.min : range.value_min)[element];
        middle = (is_dim ? range.opt : range.value_opt)[element];
        high = (is_dim ? range.max : range.value_max)[element];
      }
    }
    ranges_.push_back({low, high});
    // What may be anything is clamped where it is used; numbers near the ends would overflow before.
    const bool any = high == std::numeric_limits<int64_t>::max();
    min.push_back(any ? 0 : low);
    opt_.push_back(any ? 0 : middle);
    max.push_back(any ? 0 : high);
  }
  check_shared_dims(graph, profile, opt_);
  check_guards_at_opt(graph, opt_);
  check_guards_at_min(graph, min, max);
  for (const SymbolValues& corner : {min, max}) {
    if (corner == opt_) continue;
    if (broken_guard(graph, corner, false) == nullptr) corners_.push_back(corner);
    if (broken_guard(graph, corner, true) == nullptr) body_corners_.push_back(corner);
  }
}

int64_t Box::upper_bound(Dim dim) const {
  return range_of(dim, [this](const ir::Symbol&, int index) { return ranges_[static_cast<size_t>(index)]; }).max;
}

uint64_t Box::bytes_at_most(const Graph& graph, const ir::Value& value) const {
  // Of the product as one expression the bound may be tighter (h * floor(w/h)) or looser ((h-1)*(w-1), multiplied out).
  const Dim count = product(value.dims);
  int64_t elements = upper_bound(count), of_dims = 1;
  bool fits = true;
  for (const Dim dim : value.dims) fits = fits && checked_mul(of_dims, upper_bound(dim), &of_dims);
  if (fits) elements = std::min(elements, of_dims);
  // And a guard may say that there are as many as elsewhere (a Reshape to computed dims); a branch's, within it.
  for (const Guard& guard : guards_) {
    const bool applies = guard.branch < 0 || guard.branch == graph.number();
    if (applies && guard.equal && guard.left == count) elements = std::min(elements, upper_bound(guard.right));
  }
  int64_t bytes = 0;
  if (!checked_mul(elements, static_cast<int64_t>(size_of(value.dtype)), &bytes)) {
    throw Error(StatusCode::kResource,
                fmt::format("tensor {} of shape {} passes 2^63 bytes at the profile's maximum; lower --maxShapes",
                            value.name, to_string(value.dims)));
  }
  return static_cast<uint64_t>(bytes);
}

int64_t evaluate_at(Dim dim, const SymbolValues& values) {
  return evaluate(dim, [&](int index) { return values[static_cast<size_t>(index)]; });
}

}  // namespace planwright::builder
