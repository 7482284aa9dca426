// Operators that keep the elements and change the shape.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"

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
  if (!node.elements(1)) {
    node.unsupported("its shape is computed from data; make it a constant or derive it from dimensions");
  }
  return *node.elements(1);
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

// Dims that come from an input's values, which may also be 0 or -1: what the model declares, held by a guard.
Shape declared_dims(NodeContext& node, const Shape& wanted, bool zero_copies) {
  const std::optional<std::vector<int64_t>> declared = node.declared_static(0);
  if (!declared) {
    node.unsupported("its shape is an input and its output's shape is not declared; make the shape an initializer");
  }
  node.require(declared->size() == wanted.size(),
               fmt::format("its output is declared with {} axes, its shape has {}", declared->size(), wanted.size()));
  Shape dims;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim dim = (*declared)[i];
    // The value itself, with -1 and a 0 that copies counted as what they stand for.
    Dim resolved = wanted[i] + is_equal(wanted[i], -1) * (dim + 1);
    if (zero_copies && i < node.in_dims(0).size()) resolved = resolved + is_equal(wanted[i], 0) * node.in_dims(0)[i];
    node.guard_equal(resolved, dim, fmt::format("Reshape must make axis {} as the model declares it", i));
    dims.push_back(dim);
  }
  return dims;
}

void reshape(NodeContext& node) {
  const Shape wanted = requested_dims(node);
  const Shape& from = node.in_dims(0);
  const bool zero_copies = node.get_int("allowzero") == 0;
  if (wanted.size() > kMaxRank)
    node.unsupported(fmt::format("a shape of {} axes; the most is {}", wanted.size(), kMaxRank));
  const bool open_ended = std::any_of(wanted.begin(), wanted.end(), [&](const Dim& dim) {
    return !dim.is_constant() && (may_be(dim, -1) || (zero_copies && may_be(dim, 0)));
  });
  if (open_ended) {
    node.set(0, node.reshape(node.in(0), declared_dims(node, wanted, zero_copies)));
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

Shape squeezed_dims(const Shape& dims, uint32_t axes, bool) { return without_axes(dims, axes); }

void squeeze(NodeContext& node) {
  const Shape& dims = node.in_dims(0);
  std::optional<uint32_t> axes = read_axes(node, 1, dims, false, squeezed_dims);
  if (!axes) {
    axes = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == Dim(1)) *axes |= 1u << i;
    }
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*axes >> i & 1) != 0) node.guard_equal(dims[i], 1, fmt::format("Squeeze takes axis {} away", i));
  }
  node.set(0, node.squeeze(node.in(0), *axes));
}

// `dims` has the new axes already, as 1.
Shape unsqueezed_dims(const Shape& dims, uint32_t axes, bool) {
  Shape result;
  size_t next = static_cast<size_t>(std::popcount(axes));  // those that stand in front of the input's own
  for (size_t i = 0; i < dims.size(); ++i) result.push_back((axes >> i & 1) != 0 ? Dim(1) : dims[next++]);
  return result;
}

void unsqueeze(NodeContext& node) {
  const size_t added = node.has_attribute("axes") ? node.get_ints("axes").size() : [&]() -> size_t {
    const Shape& dims = node.in_dims(1);
    if (dims.size() > 1 || !ir::product(dims).is_constant()) node.invalid("'axes' must be a list of known length");
    return static_cast<size_t>(ir::product(dims).constant());
  }();
  Shape padded(added, Dim(1));
  padded.insert(padded.end(), node.in_dims(0).begin(), node.in_dims(0).end());
  if (padded.size() > kMaxRank) node.unsupported(fmt::format("{} axes; the most is {}", padded.size(), kMaxRank));
  const std::optional<uint32_t> axes = read_axes(node, 1, padded, false, unsqueezed_dims);
  node.require(axes.has_value(), "its axes are missing");
  node.set(0, node.reshape(node.in(0), unsqueezed_dims(padded, *axes, false)));
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
