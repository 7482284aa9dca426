// Reductions.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/runtime_operands.h"

namespace planwright::builder::importer {
namespace {

void reduce_with(NodeContext& node, ReduceKind kind) {
  const ValueId x = node.in(0);
  const int rank = node.rank(x);
  const bool keep = node.get_int("keepdims", 1) != 0;
  std::optional<uint32_t> axes = read_axes(node, 1, rank);
  if (!axes || (*axes == 0 && rank > 0)) {  // none given: all of them, or none of them where the node says so
    const bool none = node.get_int("noop_with_empty_axes") != 0;
    axes = none ? 0u : (1u << rank) - 1u;
  }
  const ValueId reduced = node.reduce(kind, x, *axes);
  node.set(0, keep ? reduced : node.squeeze(reduced, *axes));
}

template <ReduceKind kind>
void reduce(NodeContext& node) {
  reduce_with(node, kind);
}

void arg_reduce(NodeContext& node, bool max) {
  const int axis = node.normalize_axis(node.get_int("axis"), node.in_rank(0));
  node.guard_at_most(1, node.in_dims(0)[static_cast<size_t>(axis)], "the axis must not be empty");
  ArgReduceParams params;
  params.axis = axis;
  params.is_max = max ? 1 : 0;
  params.select_last = node.get_int("select_last_index") != 0 ? 1 : 0;
  const ValueId index = node.emit_one({OpKind::kArgReduce, params, {node.in(0)}});
  node.set(0, node.get_int("keepdims", 1) != 0 ? index : node.squeeze(index, 1u << axis));
}

void arg_max(NodeContext& node) { arg_reduce(node, true); }
void arg_min(NodeContext& node) { arg_reduce(node, false); }

void cumulative(NodeContext& node, CumulativeKind kind) {
  CumulativeParams params;
  params.kind = kind;
  params.exclusive = node.get_int("exclusive") != 0 ? 1 : 0;
  params.reverse = node.get_int("reverse") != 0 ? 1 : 0;
  const std::optional<Shape>& axis = node.elements(1);
  if (node.in_rank(0) == 1 && axis && axis->size() == 1 && !(*axis)[0].is_constant()) {
    node.guard_equal(is_equal((*axis)[0], 0) + is_equal((*axis)[0], -1), 1, "its input has one axis only");
  } else {
    params.axis = node.normalize_axis(node.constant_int(1, "axis"), node.in_rank(0));
  }
  node.set(0, node.emit_one({OpKind::kCumulative, params, {node.in(0)}}));
}

void cum_sum(NodeContext& node) { cumulative(node, CumulativeKind::kSum); }
void cum_prod(NodeContext& node) { cumulative(node, CumulativeKind::kProd); }

constexpr ImporterRow kRows[] = {
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"CumProd", cum_prod},
    {"CumSum", cum_sum},
    {"ReduceL1", reduce<ReduceKind::kL1>},
    {"ReduceL2", reduce<ReduceKind::kL2>},
    {"ReduceLogSum", reduce<ReduceKind::kLogSum>},
    {"ReduceLogSumExp", reduce<ReduceKind::kLogSumExp>},
    {"ReduceMax", reduce<ReduceKind::kMax>},
    {"ReduceMean", reduce<ReduceKind::kMean>},
    {"ReduceMin", reduce<ReduceKind::kMin>},
    {"ReduceProd", reduce<ReduceKind::kProd>},
    {"ReduceSum", reduce<ReduceKind::kSum>},
    {"ReduceSumSquare", reduce<ReduceKind::kSumSquare>},
};

}  // namespace

ImporterTable reduction_importers() { return kRows; }

}  // namespace planwright::builder::importer
