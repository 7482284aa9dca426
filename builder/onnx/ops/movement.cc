// Operators that move elements about and compute nothing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"
#include "builder/onnx/shape_check.h"

namespace planwright::builder::importer {
namespace {

void transpose(NodeContext& node) {
  const int rank = node.in_rank(0);
  std::vector<int64_t> perm = node.get_ints("perm");
  if (perm.empty()) {
    for (int i = rank; i-- > 0;) perm.push_back(i);
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() || i < static_cast<size_t>(rank); ++i) {
    node.require(i < sorted.size() && i < static_cast<size_t>(rank) && sorted[i] == static_cast<int64_t>(i),
                 fmt::format("perm [{}] is no order of {} axes", fmt::join(perm, ", "), rank));
  }
  node.set(0, node.transpose(node.in(0), std::vector<int>(perm.begin(), perm.end())));
}

void concat(NodeContext& node) {
  node.require(node.input_count() > 0, "it has no inputs");
  const int axis = node.normalize_axis(node.get_int("axis", 1), node.in_rank(0));
  for (int i = 0; i < node.input_count(); ++i) {
    node.require(node.in_type(i) == node.in_type(0), "its inputs have different types");
    node.require(node.in_rank(i) == node.in_rank(0), "its inputs have different numbers of axes");
  }
  node.set(0, node.concat(node.ins(), axis));
}

// Of axes that may only be known at run time: each is one, and no two are the same.
void guard_axes(NodeContext& node, const Shape& axes) {
  if (std::all_of(axes.begin(), axes.end(), [](const Dim& axis) { return axis.is_constant(); })) return;
  const int rank = node.in_rank(0);
  Dim named = 0;
  for (int i = 0; i < rank; ++i) {
    Dim count = 0;
    for (const Dim& axis : axes) count = count + is_equal(axis, i) + is_equal(axis, i - rank);
    node.guard_at_most(count, 1, fmt::format("axis {} must not stand twice in 'axes'", i));
    named = named + count;
  }
  node.guard_equal(named, static_cast<int64_t>(axes.size()), fmt::format("'axes' must be of {} axes", rank));
}

// ---- Split

Shape split_sizes(NodeContext& node, Dim length, size_t outputs) {
  Shape sizes;
  const bool given_attribute = node.has_attribute("split") && !node.get_ints("split").empty();
  if (given_attribute || node.has(1)) {
    if (given_attribute) {
      const std::vector<int64_t> given = node.get_ints("split");
      sizes.assign(given.begin(), given.end());
    } else {
      if (!node.elements(1)) node.unsupported("'split' is computed from data; make it a constant");
      sizes = *node.elements(1);
    }
    node.require(sizes.size() == outputs, fmt::format("'split' has {} sizes for {} outputs", sizes.size(), outputs));
    Dim total = 0;
    for (const Dim& size : sizes) {
      node.require(ir::range_of(size).max >= 0, "'split' has a negative size");
      total = total + size;
    }
    node.guard_equal(total, length, "the sizes of a Split must add up to the axis");
    return sizes;
  }
  // Pieces of one size, the last smaller where that does not divide (which only opset 18 allows).
  const auto count = static_cast<int64_t>(outputs);
  if (node.since() < 18) {
    node.guard_equal(ir::mod(length, count), 0,
                     fmt::format("a Split into {} equal pieces must divide the axis", count));
  } else {
    node.require(node.get_int("num_outputs", count) == count, "'num_outputs' is not the number of its outputs");
  }
  const Dim piece = ir::ceil_div(length, count);
  for (int64_t i = 0; i + 1 < count; ++i) sizes.push_back(piece);
  const Dim last = length - piece * (count - 1);
  node.guard_at_most(0, last, fmt::format("a Split into {} pieces needs a longer axis", count));
  sizes.push_back(last);
  return sizes;
}

void split(NodeContext& node) {
  const int axis = node.normalize_axis(node.get_int("axis", 0), node.in_rank(0));
  const auto outputs = static_cast<size_t>(node.output_count());
  const Shape sizes = split_sizes(node, node.in_dims(0)[static_cast<size_t>(axis)], outputs);
  require_bounded(node, sizes);
  Dim start = 0;
  for (size_t i = 0; i < outputs; ++i) {
    if (node.wants(static_cast<int>(i))) node.set(static_cast<int>(i), node.slice(node.in(0), axis, start, sizes[i]));
    start = start + sizes[i];
  }
}

// ---- Slice

// Numbers from an attribute (before opset 10) or an input, as expressions.
std::optional<Shape> slice_numbers(NodeContext& node, const char* name, int input) {
  if (node.since() < 10) {
    if (!node.has_attribute(name)) return std::nullopt;
    const std::vector<int64_t> given = node.get_ints(name);
    return Shape(given.begin(), given.end());
  }
  if (!node.has(input)) return std::nullopt;
  return node.read_elements(node.in(input));
}

Dim clamp(Dim at, Dim low, Dim high) { return ir::min(ir::max(at, low), high); }

struct Cut {
  Dim start = 0, step = 1, length = 0;
};

// Where numpy's start:end:step begins in an axis and how many it takes. `step` may have any sign.
Cut cut_axis(Dim start, Dim end, Dim step, Dim axis) {
  // A step that is longer than any axis takes one element; the longest ones would overflow.
  step = clamp(step, -kMaxDim, kMaxDim);
  const Dim forward = is_less(0, step), backward = Dim(1) - forward;
  const Dim last = axis - backward;  // a step backwards begins and ends one earlier
  Cut cut;
  cut.step = step;
  const Dim first = clamp(from_front(start, axis), 0, last);  // -1 backwards in an empty axis
  cut.start = ir::max(first, 0);
  const Dim stop = clamp(from_front(end, axis), Dim(0) - backward, last);
  const Dim ahead = ir::max(ir::ceil_div(stop - first, ir::max(step, 1)), 0);
  const Dim behind = ir::max(ir::ceil_div(first - stop, ir::max(Dim(0) - step, 1)), 0);
  cut.length = ahead * forward + behind * backward;
  return cut;
}

void slice(NodeContext& node) {
  const int rank = node.in_rank(0);
  const auto starts = slice_numbers(node, "starts", 1), ends = slice_numbers(node, "ends", 2);
  auto axes = slice_numbers(node, "axes", 3), steps = slice_numbers(node, "steps", 4);
  node.require(starts && ends, "its starts or ends are missing");
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = Shape(starts->size(), Dim(1));
  node.require(starts->size() == ends->size() && starts->size() == axes->size() && starts->size() == steps->size(),
               "starts, ends, axes and steps differ in length");
  uint32_t seen = 0;
  guard_axes(node, *axes);
  for (size_t k = 0; k < axes->size(); ++k) {
    guard_not_zero(node, (*steps)[k], "a step of a Slice must not be 0");
    if (!(*axes)[k].is_constant()) continue;
    const uint32_t bit = 1u << node.normalize_axis((*axes)[k].constant(), rank, "axes entry");
    node.require((seen & bit) == 0, fmt::format("axis {} stands twice in 'axes'", (*axes)[k].constant()));
    seen |= bit;
  }
  Shape begins, strides, lengths;
  for (int axis = 0; axis < rank; ++axis) {
    const Dim whole = node.in_dims(0)[static_cast<size_t>(axis)];
    Cut total{0, 1, whole};
    for (size_t k = 0; k < axes->size(); ++k) {  // which cut is this axis's may only be known at run time
      const Dim own = is_equal((*axes)[k], axis) + is_equal((*axes)[k], axis - rank);
      if (own == Dim(0)) continue;
      const Cut cut = cut_axis((*starts)[k], (*ends)[k], (*steps)[k], whole);
      total.start = total.start + own * cut.start;
      total.step = total.step + own * (cut.step - 1);
      total.length = total.length + own * (cut.length - whole);
    }
    begins.push_back(total.start);
    strides.push_back(total.step);
    lengths.push_back(node.read_dim(total.length, whole));
  }
  require_bounded(node, lengths);
  const bool whole = std::all_of(strides.begin(), strides.end(), [](const Dim& step) { return step == Dim(1); });
  if (whole && lengths == node.in_dims(0)) {
    node.set(0, node.in(0));
    return;
  }
  Operation operation{OpKind::kSlice, SliceParams{}, {node.in(0)}, begins};
  operation.scalars.insert(operation.scalars.end(), strides.begin(), strides.end());
  operation.results[0].dims = lengths;
  node.set(0, node.emit_one(std::move(operation)));
}

// ---- Pad, Tile, Expand

PadMode pad_mode(const NodeContext& node) {
  const std::string mode = node.get_string("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  node.invalid(fmt::format("mode '{}' is unknown", mode));
}

// Pads at the beginning of every axis, then at the end.
Shape pad_sizes(NodeContext& node) {
  const int rank = node.in_rank(0);
  Shape given;
  if (node.since() < 11) {
    const std::vector<int64_t> pads = node.get_ints(node.since() < 2 ? "paddings" : "pads");
    given.assign(pads.begin(), pads.end());
  } else {
    if (!node.elements(1)) node.unsupported("'pads' is computed from data; make it a constant");
    given = *node.elements(1);
  }
  Shape axes;
  if (node.has(3)) {
    if (!node.elements(3)) node.unsupported("'axes' is computed from data; make it a constant");
    axes = *node.elements(3);
    for (const Dim& axis : axes) {
      if (axis.is_constant()) node.normalize_axis(axis.constant(), rank, "axes entry");
    }
    guard_axes(node, axes);
  } else {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  node.require(given.size() == 2 * axes.size(),
               fmt::format("'pads' has {} numbers for {} axes", given.size(), axes.size()));
  Shape pads(2 * static_cast<size_t>(rank), Dim(0));
  for (size_t k = 0; k < axes.size(); ++k) {
    for (int axis = 0; axis < rank; ++axis) {
      const Dim own = is_equal(axes[k], axis) + is_equal(axes[k], axis - rank);
      Dim &begin = pads[static_cast<size_t>(axis)], &end = pads[static_cast<size_t>(axis + rank)];
      begin = begin + own * given[k];
      end = end + own * given[k + axes.size()];
    }
  }
  return pads;
}

// A mode that repeats elements repeats those that negative pads leave: `x` cropped by these, which become 0.
ValueId cropped(NodeContext& node, ValueId x, Shape& pads) {
  const auto rank = static_cast<size_t>(node.rank(x));
  for (size_t i = 0; i < rank; ++i) {
    Dim &begin = pads[i], &end = pads[i + rank];
    const Dim before = ir::max(Dim(0) - begin, 0), after = ir::max(Dim(0) - end, 0);
    const Dim left = node.dims(x)[i] - before - after;
    if (!(before + after == Dim(0))) {
      node.guard_at_most(0, left, fmt::format("Pad must not crop more than there is of axis {}", i));
      x = node.slice(x, static_cast<int>(i), before, left);
      begin = ir::max(begin, 0);
      end = ir::max(end, 0);
    }
    if (begin == Dim(0) && end == Dim(0)) continue;
    node.guard_at_most(ir::min(left + begin + end, 1), left,
                       fmt::format("Pad has nothing to repeat where axis {} is empty", i));
  }
  return x;
}

void pad(NodeContext& node) {
  const auto rank = static_cast<size_t>(node.in_rank(0));
  PadParams params;
  params.mode = pad_mode(node);
  const DType dtype = node.in_type(0);
  Shape pads = pad_sizes(node);
  Shape dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(node.in_dims(0)[i] + pads[i] + pads[i + rank]);
  require_bounded(node, dims);
  for (size_t i = 0; i < rank; ++i) {
    node.guard_at_most(0, dims[i], fmt::format("Pad must not crop more than there is of axis {}", i));
  }
  const ValueId x = params.mode == PadMode::kConstant ? node.in(0) : cropped(node, node.in(0), pads);
  Operation operation{OpKind::kPad, params, {x}, std::move(pads)};
  if (params.mode == PadMode::kConstant) {
    if (node.since() < 11) {
      operation.inputs.push_back(node.scalar(dtype, static_cast<double>(node.get_float("value", 0))));
    } else if (node.has(2)) {
      node.require(node.in_type(2) == dtype, "'constant_value' has another type than its input");
      operation.inputs.push_back(node.reshape(node.in(2), {}));
    }
  }
  operation.results[0].dims = std::move(dims);
  node.set(0, node.emit_one(std::move(operation)));
}

void tile(NodeContext& node) {
  const auto rank = static_cast<size_t>(node.in_rank(0));
  Shape repeats(rank, Dim(1));
  if (node.since() < 6) {
    repeats.at(static_cast<size_t>(node.normalize_axis(node.constant_int(2, "axis"), node.in_rank(0)))) =
        node.constant_int(1, "tiles");
  } else {
    if (!node.elements(1)) node.unsupported("'repeats' is computed from data; make it a constant");
    repeats = *node.elements(1);
    node.require(repeats.size() == rank, fmt::format("'repeats' has {} numbers for {} axes", repeats.size(), rank));
  }
  Shape dims;
  for (size_t i = 0; i < rank; ++i) {
    node.require(ir::range_of(repeats[i]).max >= 0, "'repeats' has a negative number");
    dims.push_back(node.in_dims(0)[i] * repeats[i]);
  }
  require_bounded(node, dims);
  if (dims == node.in_dims(0)) {
    node.set(0, node.in(0));
    return;
  }
  Operation operation{OpKind::kTile, NoParams{}, {node.in(0)}};
  operation.results[0].dims = std::move(dims);
  node.set(0, node.emit_one(std::move(operation)));
}

// Both the input and the shape may have ones where the other has more.
void expand(NodeContext& node) {
  if (!node.elements(1)) node.unsupported("its shape is computed from data; make it a constant");
  Shape from = node.in_dims(0), wanted = *node.elements(1);
  while (from.size() < wanted.size()) from.insert(from.begin(), Dim(1));
  while (wanted.size() < from.size()) wanted.insert(wanted.begin(), Dim(1));
  Shape dims;
  for (size_t i = 0; i < from.size(); ++i) {
    const Dim own = from[i], other = wanted[i];
    node.require(ir::range_of(other).max >= 0, fmt::format("its shape {} has a negative entry", ir::to_string(wanted)));
    if (own == Dim(1) || other == Dim(1) || own == other) {
      dims.push_back(own == Dim(1) ? other : own);
      continue;
    }
    const std::string reason = fmt::format("Expand must broadcast axis {}", i);
    if (ir::range_of(own).min > 1 && ir::range_of(other).min > 1) {
      node.guard_equal(own, other, reason);
      dims.push_back(own.is_constant() ? own : other);
    } else {
      const Dim fits = is_equal(own, other) + is_equal(own, 1) + is_equal(other, 1);
      node.guard_at_most(1, fits,
                         fmt::format("{}: {} and {} must be the same, or one of them 1", reason, ir::to_string(own),
                                     ir::to_string(other)));
      // Beside an axis of 1 the other one counts, which may be empty.
      if (own.is_constant() || other.is_constant()) {
        dims.push_back(own.is_constant() ? own : other);
      } else {
        dims.push_back(own + is_equal(own, 1) * (other - own));
      }
    }
  }
  require_bounded(node, dims);
  node.set(0, node.expand(node.in(0), dims));
}

// ---- Blocks of space and depth

// Of 32 bits, so that the places of a block can be counted.
int64_t block_size(const NodeContext& node) {
  const int64_t block = node.get_int32("blocksize");
  node.require(block >= 1, fmt::format("blocksize is {}", block));
  return block;
}

// Depth holds the block's place before the channel (DCR, and SpaceToDepth) or after it (CRD).
void depth_to_space(NodeContext& node) {
  const int64_t block = block_size(node);
  node.require(node.in_rank(0) == 4, "its input must have four axes");
  const Shape d = node.in_dims(0);
  const std::string mode = node.get_string("mode", "DCR");
  node.require(mode == "DCR" || mode == "CRD", fmt::format("mode '{}' is unknown", mode));
  const Dim channels = ir::floor_div(d[1], block * block);
  node.guard_equal(channels * (block * block), d[1], "the block must divide the channels");
  const bool depth_first = mode == "DCR";
  const Shape split =
      depth_first ? Shape{d[0], block, block, channels, d[2], d[3]} : Shape{d[0], channels, block, block, d[2], d[3]};
  const std::vector<int> perm = depth_first ? std::vector<int>{0, 3, 4, 1, 5, 2} : std::vector<int>{0, 1, 4, 2, 5, 3};
  const ValueId moved = node.transpose(node.reshape(node.in(0), split), perm);
  node.set(0, node.reshape(moved, {d[0], channels, d[2] * block, d[3] * block}));
}

void space_to_depth(NodeContext& node) {
  const int64_t block = block_size(node);
  node.require(node.in_rank(0) == 4, "its input must have four axes");
  const Shape d = node.in_dims(0);
  const std::string mode = node.get_string("mode", "DCR");
  node.require(mode == "DCR" || mode == "CRD", fmt::format("mode '{}' is unknown", mode));
  const Dim height = ir::floor_div(d[2], block), width = ir::floor_div(d[3], block);
  const ValueId split = node.reshape(node.in(0), {d[0], d[1], height, block, width, block});
  const ValueId moved =
      node.transpose(split, mode == "DCR" ? std::vector<int>{0, 3, 5, 1, 2, 4} : std::vector<int>{0, 1, 3, 5, 2, 4});
  node.set(0, node.reshape(moved, {d[0], d[1] * (block * block), height, width}));
}

void reverse_sequence(NodeContext& node) {
  ReverseSequenceParams params;
  params.batch_axis = node.get_int32("batch_axis", 1);
  params.time_axis = node.get_int32("time_axis", 0);
  node.require((params.batch_axis == 0 && params.time_axis == 1) || (params.batch_axis == 1 && params.time_axis == 0),
               fmt::format("batch_axis is {} and time_axis {}; they must be 0 and 1, in either order",
                           params.batch_axis, params.time_axis));
  node.set(0, node.emit_one({OpKind::kReverseSequence, params, {node.in(0), node.in(1)}}));
}

constexpr ImporterRow kRows[] = {
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Pad", pad},
    {"ReverseSequence", reverse_sequence},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Tile", tile},
    {"Transpose", transpose},
};

}  // namespace

ImporterTable movement_importers() { return kRows; }

}  // namespace planwright::builder::importer
