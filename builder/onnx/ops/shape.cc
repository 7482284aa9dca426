// Operators that keep the elements and change the shape.
#include <fmt/format.h>

#include <algorithm>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"
#include "builder/onnx/shape_check.h"

namespace planwright::builder::importer {
namespace {

// ---- Reshape

// The dims asked for, before 0 and -1 are resolved.
Shape requested_dims(NodeContext& node) {
  if (node.since() < 5) {
    const std::vector<int64_t> shape = node.get_ints("shape");
    return {shape.begin(), shape.end()};
  }
  node.require(node.in_type(1) == DType::kI64 && node.in_rank(1) == 1, "its shape must be int64 with one axis");
  return node.read_elements(node.in(1));
}

bool may_be(Dim dim, int64_t value) {
  const ir::Interval range = ir::range_of(dim);
  return range.min <= value && value <= range.max;
}

// What -1 stands for: what is left of the input's elements once those dims are taken that both sides have.
Dim inferred_dim(NodeContext& node, Shape from, const Shape& to, size_t open) {
  Shape rest;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i == open) continue;
    const auto same = std::find(from.begin(), from.end(), to[i]);
    if (same == from.end() || ir::range_of(to[i]).min < 1) {
      rest.push_back(to[i]);
    } else {
      from.erase(same);
    }
  }
  const Dim total = ir::product(from), known = ir::product(rest);
  if (known == Dim(0)) node.invalid("-1 in its shape stands beside a 0, so it can be anything");
  const Dim divisor = ir::range_of(known).min >= 1 ? known : ir::max(known, 1);
  if (!ir::proven_divisible(total, divisor)) {
    node.guard_equal(ir::mod(total, divisor), 0,
                     fmt::format("Reshape to {} must divide {}", ir::to_string(known), ir::to_string(total)));
  }
  return ir::floor_div(total, divisor);
}

// Dims whose 0 and -1 are told when the numbers are there. Each is at most all the elements there are: one more stands
// for what is too large, which is refused then.
Shape computed_dims(NodeContext& node, const Shape& wanted, bool zero_copies) {
  const Shape& from = node.in_dims(0);
  const Dim total = ir::product(from);
  // An empty tensor's other dims may be anything; they get no longer than those of the largest input.
  const int64_t most_of_none = std::clamp<int64_t>(ir::range_of(total).max, 1, kMaxDim);
  const Dim most = may_be(total, 0) ? ir::max(total, is_equal(total, 0) * most_of_none) : total;
  Shape given;
  Dim rest = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim copied = zero_copies && i < from.size() ? from[i] : Dim(0);
    given.push_back(ir::min(ir::max(wanted[i], 0), most + 1) + is_equal(wanted[i], 0) * copied);
    // Beside a 0 anything fits, so what is too large would not be refused.
    if (may_be(total, 0)) {
      node.guard_at_most(
          is_equal(total, 0) * ir::min(wanted[i], most_of_none + 1), most_of_none,
          fmt::format("entry {} of a Reshape's shape must be at most {} where its input is empty", i, most_of_none));
    }
    rest = rest * (given[i] + is_equal(wanted[i], -1));
  }
  const Dim open = ir::floor_div(total, ir::max(rest, 1));
  Shape dims;
  for (size_t i = 0; i < wanted.size(); ++i) {
    dims.push_back(node.read_dim(given[i] + is_equal(wanted[i], -1) * open, most));
  }
  return dims;
}

// Whether 0 or -1 may stand in the shape because who runs the engine wrote them into an input.
bool given_as_values(NodeContext& node, const Shape& wanted, bool zero_copies) {
  const std::vector<ir::Symbol>& symbols = node.graph().exprs().symbols();
  for (const Dim& dim : wanted) {
    if (dim.is_constant() || !(may_be(dim, -1) || (zero_copies && may_be(dim, 0)))) continue;
    const std::vector<int> used = ir::symbols_of({dim});
    const bool given = std::any_of(used.begin(), used.end(), [&](int index) {
      return symbols[static_cast<size_t>(index)].origin == ir::SymbolOrigin::kInputValue;
    });
    if (!given) continue;
    require_bounded(node, {dim});
    return true;
  }
  return false;
}

// An entry computed from sizes is a size: one that comes to 0 or -1 must not be taken for what these mean in a shape. 0
// may stand where it copies a 0.
void guard_is_size(NodeContext& node, Dim entry, bool zero_copies, size_t axis) {
  const Shape& from = node.in_dims(0);
  const Dim least = !zero_copies ? Dim(0) : axis < from.size() ? ir::min(from[axis], 1) : Dim(1);
  node.guard_at_most(least, entry,
                     fmt::format("entry {} of a Reshape's shape is computed as a size and must be one", axis));
}

void reshape(NodeContext& node) {
  const bool is_computed = node.since() >= 5 && !node.elements(1);
  const Shape wanted = requested_dims(node);
  const Shape& from = node.in_dims(0);
  const bool zero_copies = node.get_int("allowzero") == 0;
  if (wanted.size() > kMaxRank)
    node.unsupported(fmt::format("a shape of {} axes; the most is {}", wanted.size(), kMaxRank));
  if (is_computed || given_as_values(node, wanted, zero_copies)) {
    node.set(0, node.reshape(node.in(0), computed_dims(node, wanted, zero_copies)));
    return;
  }
  Shape to;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == Dim(0) && zero_copies) {
      node.require(i < from.size(),
                   fmt::format("0 in its shape copies axis {}, which its input {} has not", i, ir::to_string(from)));
      to.push_back(from[i]);
    } else if (wanted[i] == Dim(-1)) {
      node.require(!open, "its shape has -1 twice");
      open = i;
      to.push_back(1);
    } else {
      node.require(ir::range_of(wanted[i]).max >= 0,
                   fmt::format("its shape {} has a negative entry", ir::to_string(wanted)));
      guard_is_size(node, wanted[i], zero_copies, i);
      to.push_back(wanted[i]);
    }
  }
  if (open) to[*open] = inferred_dim(node, from, to, *open);
  node.set(0, node.reshape(node.in(0), std::move(to)));
}

void flatten(NodeContext& node) {
  const Shape& dims = node.in_dims(0);
  const int axis = normalize_split_axis(node, node.get_int("axis", 1), node.in_rank(0));
  node.set(0, node.reshape(node.in(0), {ir::product(Shape(dims.begin(), dims.begin() + axis)),
                                        ir::product(Shape(dims.begin() + axis, dims.end()))}));
}

// ---- Axes of length 1

void squeeze(NodeContext& node) {
  const Shape& dims = node.in_dims(0);
  std::optional<uint32_t> axes = read_axes(node, 1, node.in_rank(0));
  if (!axes) {
    // How many axes there are is decided here: one that only may have length 1 stays, and must not have it then.
    axes = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == Dim(1)) {
        *axes |= 1u << i;
      } else if (may_be(dims[i], 1)) {
        node.guard_equal(is_equal(dims[i], 1), 0,
                         fmt::format("Squeeze without axes keeps axis {}, which must not have length 1", i));
      }
    }
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*axes >> i & 1) != 0) node.guard_equal(dims[i], 1, fmt::format("Squeeze takes axis {} away", i));
  }
  node.set(0, node.squeeze(node.in(0), *axes));
}

void unsqueeze(NodeContext& node) {
  const bool given = node.has_attribute("axes");
  node.require(given || node.has(1), "its axes are missing");
  const size_t added = given ? node.get_ints("axes").size() : node.constant_ints(1, "axes").size();
  const size_t rank = node.in_dims(0).size() + added;
  if (rank > kMaxRank) node.unsupported(fmt::format("{} axes; the most is {}", rank, kMaxRank));
  const uint32_t axes = *read_axes(node, 1, static_cast<int>(rank));
  Shape dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) dims.push_back((axes >> i & 1) != 0 ? Dim(1) : node.in_dims(0)[next++]);
  node.set(0, node.reshape(node.in(0), std::move(dims)));
}

constexpr ImporterRow kRows[] = {
    {"Flatten", flatten},
    {"Reshape", reshape},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

ImporterTable shape_importers() { return kRows; }

}  // namespace planwright::builder::importer
