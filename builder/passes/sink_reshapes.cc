// A Pointwise behind a Reshape moves in front of it, next to what computes its operand, to be fused there: exporters
// squeeze a convolution's result before they add its bias.
#include <algorithm>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::kNone;
using ir::ValueId;

// For each axis of `to`, the axis of `from` that it is, or -1 where it has length 1 of its own; nullopt when the shapes
// differ in more than axes of length 1.
std::optional<std::vector<int>> axes_kept(const ir::Shape& from, const ir::Shape& to) {
  std::vector<int> kept;
  size_t next = 0;
  for (Dim dim : to) {
    if (dim == Dim(1)) {
      kept.push_back(-1);
      continue;
    }
    while (next < from.size() && from[next] == Dim(1)) ++next;
    if (next == from.size() || !ir::proven_equal(from[next], dim)) return std::nullopt;
    kept.push_back(static_cast<int>(next++));
  }
  return std::all_of(from.begin() + static_cast<ptrdiff_t>(next), from.end(), [](Dim dim) { return dim == Dim(1); })
             ? std::optional(kept)
             : std::nullopt;
}

// The shape that an operand which broadcasts to `after` has before the Reshape from `before` to `after`.
std::optional<ir::Shape> shape_before(const ir::Shape& operand, const ir::Shape& before, const ir::Shape& after) {
  if (same_shape(operand, after)) return before;
  if (ir::product(operand) == Dim(1)) return ir::Shape{};
  const std::optional<std::vector<int>> kept = axes_kept(after, before);
  if (!kept) return std::nullopt;
  ir::Shape shape;
  for (int axis : *kept) {
    const int own = axis - static_cast<int>(after.size()) + static_cast<int>(operand.size());
    shape.push_back(axis < 0 || own < 0 ? Dim(1) : operand[static_cast<size_t>(own)]);
  }
  return shape;
}

// The operand in another shape: a constant anew, or what a Reshape made of that shape. kNone for others: a Reshape made
// for them would only stand where the one that moves stood.
ValueId reshaped(ir::Graph& graph, ValueId id, const ir::Shape& dims) {
  const ir::Value& value = graph.value(id);
  if (value.is_constant()) {
    if (value.dims == dims) return id;
    const ValueId result = graph.add_value(value.name, value.dtype, dims).id;
    graph.value(result).constant = value.constant;
    return result;
  }
  const ir::Node* reshape = producer_of(graph, id, OpKind::kReshape);
  const bool undone = reshape != nullptr && same_shape(graph.value(reshape->inputs[0]).dims, dims);
  return undone ? reshape->inputs[0] : kNone;
}

// Whether a Pointwise behind `source` can be fused with it, or lets two Reshapes meet.
bool worth_reaching(const ir::Node* source) {
  return source != nullptr &&
         (takes_epilogue(source->kind) || source->kind == OpKind::kPointwise || source->kind == OpKind::kReduce);
}

bool move_before(ir::Graph& graph, ir::Node& node, const ir::Node& reshape) {
  const ValueId result = node.outputs[0];
  const ir::Shape before = graph.value(reshape.inputs[0]).dims, after = graph.value(reshape.outputs[0]).dims;
  if (!same_shape(after, graph.value(result).dims)) return false;
  std::vector<ValueId> operands;
  for (ValueId id : node.inputs) {
    const std::optional<ir::Shape> shape = shape_before(graph.value(id).dims, before, after);
    operands.push_back(shape ? reshaped(graph, id, *shape) : kNone);
    if (operands.back() == kNone) return false;
  }
  node.inputs = operands;
  const ir::Value& value = graph.value(result);
  const ValueId inner = graph.add_value(value.name, value.dtype, before).id;
  ir::Node& moved = graph.add_node(OpKind::kReshape, NoParams{}, {inner}, {result}, node_behind(graph, node.id));
  moved.name = reshape.name;
  moved.onnx = reshape.onnx;
  node.outputs[0] = inner;
  graph.value(inner).producer = node.id;
  return true;
}

bool sink(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kPointwise || node.outputs.size() != 1) return false;
  for (ValueId id : node.inputs) {
    const ir::Node* reshape = producer_of(graph, id, OpKind::kReshape);
    if (reshape == nullptr || only_user(graph, id) == nullptr ||
        !worth_reaching(producer_of(graph, reshape->inputs[0]))) {
      continue;
    }
    if (move_before(graph, node, *reshape)) {
      graph.erase_node(reshape->id);
      return true;
    }
  }
  return false;
}

}  // namespace

bool sink_reshapes(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    if (graph.has_node(id)) changed |= sink(graph, graph.node(id));
  }
  return changed;
}

}  // namespace planwright::builder
