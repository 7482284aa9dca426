// Operators that pick elements by index.
#include <fmt/format.h>

#include <algorithm>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"

namespace planwright::builder::importer {
namespace {

// Constant indices are checked now; those of run-time data are the kernel's to check.
void check_indices(const NodeContext& node, ValueId indices, Dim length) {
  const ir::Value& value = node.value(indices);
  node.require(value.dtype == DType::kI64 || value.dtype == DType::kI32,
               fmt::format("its indices are {}, not int32 or int64", name_of(value.dtype)));
  if (!value.is_constant() || !length.is_constant()) return;
  for (const int64_t index : read_ints(value)) {
    node.require(index >= -length.constant() && index < length.constant(),
                 fmt::format("index {} is out of range for an axis of {}", index, length.constant()));
  }
}

void gather(NodeContext& node) {
  const int axis = node.normalize_axis(node.get_int("axis"), node.in_rank(0));
  check_indices(node, node.in(1), node.in_dims(0)[static_cast<size_t>(axis)]);
  node.set(0, node.gather(node.in(0), node.in(1), axis));
}

void gather_elements(NodeContext& node) {
  GatherElementsParams params;
  params.axis = node.normalize_axis(node.get_int("axis"), node.in_rank(0));
  check_indices(node, node.in(1), node.in_dims(0)[static_cast<size_t>(params.axis)]);
  node.set(0, node.emit_one({OpKind::kGatherElements, params, {node.in(0), node.in(1)}}));
}

// Constant tuples of indices, the last axis of `indices`, into the axes of `data` from `first` on.
void check_tuples(const NodeContext& node, ValueId indices, ValueId data, int first) {
  const ir::Value& value = node.value(indices);
  if (!value.is_constant() || value.dtype != DType::kI64 || value.rank() == 0) return;
  const int64_t width = value.dims.back().constant();
  node.require(width + first <= node.rank(data),
               fmt::format("its indices name {} axes of {}", width, node.rank(data) - first));
  const std::vector<int64_t> all = read_ints(value);
  for (size_t i = 0; i < all.size(); ++i) {
    const Dim length = node.dims(data)[static_cast<size_t>(first) + i % static_cast<size_t>(width)];
    if (!length.is_constant()) continue;
    node.require(all[i] >= -length.constant() && all[i] < length.constant(),
                 fmt::format("index {} is out of range for an axis of {}", all[i], length.constant()));
  }
}

void gather_nd(NodeContext& node) {
  GatherNDParams params;
  params.batch_dims = node.get_int32("batch_dims", 0);
  node.require(params.batch_dims >= 0 && params.batch_dims <= node.in_rank(0),
               fmt::format("batch_dims {} is out of range for {} axes", params.batch_dims, node.in_rank(0)));
  check_tuples(node, node.in(1), node.in(0), params.batch_dims);
  node.set(0, node.emit_one({OpKind::kGatherND, params, {node.in(0), node.in(1)}}));
}

ScatterReduction scatter_reduction(const NodeContext& node) {
  const std::string reduction = node.get_string("reduction", "none");
  if (reduction == "none") return ScatterReduction::kNone;
  if (reduction == "add") return ScatterReduction::kAdd;
  if (reduction == "mul") return ScatterReduction::kMul;
  if (reduction == "max") return ScatterReduction::kMax;
  if (reduction == "min") return ScatterReduction::kMin;
  node.invalid(fmt::format("reduction '{}' is unknown", reduction));
}

void scatter_elements(NodeContext& node) {
  ScatterElementsParams params;
  params.axis = node.normalize_axis(node.get_int("axis"), node.in_rank(0));
  params.reduction = scatter_reduction(node);
  check_indices(node, node.in(1), node.in_dims(0)[static_cast<size_t>(params.axis)]);
  node.set(0, node.emit_one({OpKind::kScatterElements, params, {node.in(0), node.in(1), node.in(2)}}));
}

void scatter_nd(NodeContext& node) {
  ScatterNDParams params;
  params.reduction = scatter_reduction(node);
  check_tuples(node, node.in(1), node.in(0), 0);
  node.set(0, node.emit_one({OpKind::kScatterND, params, {node.in(0), node.in(1), node.in(2)}}));
}

ValueId count_up(NodeContext& node, Dim length) {
  Operation operation{OpKind::kRange, NoParams{}, {node.scalar(DType::kI64, 0), node.scalar(DType::kI64, 1)}};
  operation.results[0] = {DType::kI64, Shape{length}};
  return node.emit_one(std::move(operation));
}

// Writes each batch's update into its cache from a place of its own on, around the end where the node says so.
void tensor_scatter(NodeContext& node) {
  const int rank = node.in_rank(0);
  const int axis = node.normalize_axis(node.get_int("axis", -2), rank);
  node.require(axis >= 1 && node.in_rank(1) == rank, "its axis must come after the batch's");
  node.require(node.in_type(0) == node.in_type(1), "its cache and update differ in type");
  const std::string mode = node.get_string("mode", "linear");
  node.require(mode == "linear" || mode == "circular", fmt::format("mode '{}' is unknown", mode));
  std::vector<int> perm{0, axis}, back(static_cast<size_t>(rank));
  for (int i = 1; i < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  for (int i = 0; i < rank; ++i) back[static_cast<size_t>(perm[static_cast<size_t>(i)])] = i;
  const ValueId cache = node.transpose(node.in(0), perm), update = node.transpose(node.in(1), perm);
  const Dim batch = node.dims(cache)[0], length = node.dims(cache)[1], count = node.dims(update)[1];
  node.guard_equal(node.dims(update)[0], batch, "one update for each batch");
  node.guard_at_most(count, length, "the update fits the cache");
  ValueId places = count_up(node, count);
  if (node.has(2)) {
    const ValueId first = node.reshape(node.cast(node.in(2), DType::kI64), {batch, 1});
    places = node.binary(PwOp::kAdd, places, first);
  }
  if (mode == "circular") {
    places = node.binary(PwOp::kModFloor, places, node.shape_values(DType::kI64, {}, {length}));
  }
  const Shape tuple{batch, count, 1};
  const ValueId rows = node.expand(node.reshape(count_up(node, batch), {batch, 1, 1}), tuple);
  const ValueId columns = node.expand(node.unsqueeze(places, node.rank(places)), tuple);
  const ValueId indices = node.concat({rows, columns}, 2);
  node.set(0, node.transpose(node.emit_one({OpKind::kScatterND, ScatterNDParams{}, {cache, indices, update}}), back));
}

void top_k(NodeContext& node) {
  const int rank = node.in_rank(0);
  TopKParams params;
  params.axis = node.normalize_axis(node.get_int("axis", -1), rank);
  params.largest = node.get_int("largest", 1) != 0 ? 1 : 0;
  params.sorted = node.get_int("sorted", 1) != 0 ? 1 : 0;
  Dim k = node.get_int("k");
  if (node.since() >= 10) {
    const Shape wanted = node.read_elements(node.in(1));
    node.require(wanted.size() == 1, "'K' must be one number");
    k = node.read_dim(wanted[0], node.in_dims(0)[static_cast<size_t>(params.axis)]);
  }
  const Dim length = node.in_dims(0)[static_cast<size_t>(params.axis)];
  Shape dims = node.in_dims(0);
  dims[static_cast<size_t>(params.axis)] = k;
  require_bounded(node, dims);
  const Dim taken = dims[static_cast<size_t>(params.axis)];
  node.guard_at_most(0, taken, "TopK: k must not be negative");
  node.guard_at_most(taken, length, "TopK: k must not exceed the axis");
  Operation operation{OpKind::kTopK, params, {node.in(0)}};
  operation.results = {{std::nullopt, dims}, {DType::kI64, dims}};
  const std::vector<ValueId> made = node.emit(std::move(operation));
  for (int i = 0; i < node.output_count(); ++i) node.set(i, made[static_cast<size_t>(i)]);
}

void one_hot(NodeContext& node) {
  const int rank = node.in_rank(0) + 1;
  OneHotParams params;
  params.axis = node.normalize_axis(node.get_int("axis", -1), rank);
  node.require(node.in_rank(2) == 1, "its values must be a pair");
  const ir::Value& depth = node.input(1);
  Shape dims = node.in_dims(0);
  dims.insert(dims.begin() + params.axis, Dim(0));
  Dim& length = dims[static_cast<size_t>(params.axis)];
  if (depth.is_constant()) {
    const double given = node.constant_double(1, "depth");
    node.require(given >= 0 && given < 0x1p31, fmt::format("its depth is {}", given));
    length = static_cast<int64_t>(given);
  } else if (depth.elements && depth.elements->size() == 1) {
    length = (*depth.elements)[0];
  } else {
    node.unsupported("its depth is computed from data; make it a constant");
  }
  node.guard_at_most(0, length, "OneHot: its depth must not be negative");
  Operation operation{OpKind::kOneHot, params, {node.cast(node.in(0), DType::kI64), node.in(2)}};
  require_bounded(node, dims);
  operation.results[0] = {node.in_type(2), dims};
  node.set(0, node.emit_one(std::move(operation)));
}

void trilu(NodeContext& node) {
  TriluParams params;
  params.upper = node.get_int("upper", 1) != 0 ? 1 : 0;
  Dim k = 0;
  if (node.has(1)) {
    const Shape diagonal = node.read_elements(node.in(1));
    node.require(diagonal.size() == 1, "'k' must be one number");
    k = diagonal[0];
  }
  Operation operation{OpKind::kTrilu, params, {node.in(0)}, {k}};
  node.set(0, node.emit_one(std::move(operation)));
}

constexpr ImporterRow kRows[] = {
    {"Gather", gather},        {"GatherElements", gather_elements}, {"GatherND", gather_nd},
    {"OneHot", one_hot},       {"Scatter", scatter_elements},       {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd}, {"TensorScatter", tensor_scatter},   {"TopK", top_k},
    {"Trilu", trilu},          {"Trilu", trilu, "com.microsoft"},
};

}  // namespace

ImporterTable selection_importers() { return kRows; }

}  // namespace planwright::builder::importer
