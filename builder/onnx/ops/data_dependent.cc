// Operators whose outputs have sizes that only their data decides: each counts, and the count becomes a dim.
#include <algorithm>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// int64[1]: how many elements of x are not 0.
ValueId count_non_zero(NodeContext& node, ValueId x) {
  const ValueId flags = node.cast(node.cast(x, DType::kBool), DType::kI64);
  return node.reduce(ReduceKind::kSum, node.reshape(flags, {ir::product(node.dims(x))}), 1u);
}

// int64[rank, n]: where x is not 0.
ValueId places_of_non_zero(NodeContext& node, ValueId x) {
  const Dim count = node.read_count(count_non_zero(node, x), ir::product(node.dims(x)));
  Operation operation{OpKind::kNonZero, NoParams{}, {x}};
  operation.results[0].dims = Shape{node.rank(x), count};
  return node.emit_one(std::move(operation));
}

void non_zero(NodeContext& node) {
  // A scalar has one place, and no axes to say where.
  node.set(0, places_of_non_zero(node, node.in(0)));
}

void compress(NodeContext& node) {
  node.require(node.in_rank(1) == 1, "its condition must have one axis");
  ValueId x = node.in(0);
  int axis = 0;
  if (node.has_attribute("axis")) {
    axis = node.normalize_axis(node.get_int("axis"), node.in_rank(0));
  } else {
    x = node.reshape(x, {ir::product(node.in_dims(0))});
  }
  node.guard_at_most(node.in_dims(1)[0], node.dims(x)[static_cast<size_t>(axis)],
                     "Compress: its condition must not be longer than the axis");
  const ValueId places = places_of_non_zero(node, node.in(1));
  node.set(0, node.gather(x, node.reshape(places, {node.dims(places)[1]}), axis));
}

void unique(NodeContext& node) {
  UniqueParams params;
  params.sorted = node.get_int("sorted", 1) != 0 ? 1 : 0;
  const ValueId x = node.in(0);
  if (node.has_attribute("axis")) params.axis = node.normalize_axis(node.get_int("axis"), node.rank(x));
  const size_t along = static_cast<size_t>(std::max(params.axis, 0));
  const Shape dims = params.axis < 0 ? Shape{ir::product(node.dims(x))} : node.dims(x);
  const Shape list{dims[along]};
  Operation operation{OpKind::kUnique, params, {x}};
  operation.results = {{std::nullopt, dims},
                       {DType::kI64, Shape{1}},
                       {DType::kI64, list, node.wants(1)},
                       {DType::kI64, list, node.wants(2)},
                       {DType::kI64, list, node.wants(3)}};
  const std::vector<ValueId> made = node.emit(std::move(operation));
  const Dim count = node.read_count(made[1], dims[along]);
  if (node.wants(0)) node.set(0, node.slice(made[0], static_cast<int>(along), 0, count));
  if (node.wants(1)) node.set(1, node.slice(made[2], 0, 0, count));
  if (node.wants(2)) node.set(2, made[3]);
  if (node.wants(3)) node.set(3, node.slice(made[4], 0, 0, count));
}

void non_max_suppression(NodeContext& node) {
  NonMaxSuppressionParams params;
  params.center_point_box = node.get_int("center_point_box") != 0 ? 1 : 0;
  node.require(node.in_rank(0) == 3 && node.in_rank(1) == 3,
               "boxes must be [batch, n, 4] and scores [batch, classes, n]");
  const Dim boxes = node.in_dims(0)[1];
  node.guard_equal(node.in_dims(1)[2], boxes, "NonMaxSuppression: boxes and scores must be as many");
  node.guard_equal(node.in_dims(1)[0], node.in_dims(0)[0], "NonMaxSuppression: boxes and scores must be of one batch");
  Dim most = 0;
  if (node.has(2)) {
    const Shape wanted = node.read_elements(node.in(2));
    node.require(wanted.size() == 1, "'max_output_boxes_per_class' must be one number");
    most = node.read_dim(ir::min(ir::max(wanted[0], 0), boxes), boxes);
  }
  Operation operation{OpKind::kNonMaxSuppression, params, {node.in(0), node.in(1)}, {most}};
  for (const int threshold : {3, 4}) operation.inputs.push_back(node.has(threshold) ? node.in(threshold) : ir::kNone);
  const Dim rows = node.in_dims(1)[0] * node.in_dims(1)[1] * most;
  operation.results = {{DType::kI64, Shape{rows, 3}}, {DType::kI64, Shape{1}}};
  const std::vector<ValueId> made = node.emit(std::move(operation));
  node.set(0, node.slice(made[0], 0, 0, node.read_count(made[1], rows)));
}

constexpr ImporterRow kRows[] = {
    {"Compress", compress},
    {"NonMaxSuppression", non_max_suppression},
    {"NonZero", non_zero},
    {"Unique", unique},
};

}  // namespace

ImporterTable data_dependent_importers() { return kRows; }

}  // namespace planwright::builder::importer
