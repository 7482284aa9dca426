// What is computed on broadcast data is computed before it is broadcast: an Expand moves behind the operators that do
// the same to every copy, to end in a program that broadcasts by itself or at an output.
#include <algorithm>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::Dim;

// Gives `node` an output of `dims`, and has an Expand behind it make the output it had.
void expand_result(ir::Graph& graph, ir::Node& node, ir::Shape dims) {
  const ir::ValueId whole = node.outputs[0];
  const ir::Value& value = graph.value(whole);
  const ir::ValueId small = graph.add_value(value.name, value.dtype, std::move(dims)).id;
  const ir::NodeId next = node_behind(graph, node.id);
  node.outputs[0] = small;
  graph.value(small).producer = node.id;
  ir::Node& expand = graph.add_node(OpKind::kExpand, NoParams{}, {small}, {whole}, next);
  expand.name = node.name;
  expand.onnx = node.onnx;
}

// A program over more elements than any of its operands has.
bool shrink_pointwise(ir::Graph& graph, ir::Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return false;
  const ir::Shape& dims = graph.value(node.outputs[0]).dims;
  ir::Shape own = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool broadcast = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
      const ir::Shape& operand = graph.value(id).dims;
      return i + operand.size() < dims.size() || operand[i + operand.size() - dims.size()] == Dim(1);
    });
    if (broadcast) own[i] = 1;
  }
  if (own == dims) return false;
  expand_result(graph, node, std::move(own));
  return true;
}

// A reduction of an Expand along axes that were not broadcast.
bool reduce_before_expand(ir::Graph& graph, ir::Node& node) {
  const ir::Node* expand = producer_of(graph, node.inputs[0], OpKind::kExpand);
  if (expand == nullptr) return false;
  const ir::Shape& in = graph.value(expand->inputs[0]).dims;
  const ir::Shape& out = graph.value(expand->outputs[0]).dims;
  const uint32_t axes = node.as<ReduceParams>().axes;
  if (in.size() != out.size()) return false;
  ir::Shape reduced = in;
  for (size_t i = 0; i < in.size(); ++i) {
    if ((axes >> i & 1) == 0) continue;
    if (!ir::proven_equal(in[i], out[i])) return false;
    reduced[i] = 1;
  }
  node.inputs[0] = expand->inputs[0];
  take_names(node, *expand);
  expand_result(graph, node, std::move(reduced));
  return true;
}

}  // namespace

bool sink_expands(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kPointwise) changed |= shrink_pointwise(graph, node);
    if (node.kind == OpKind::kReduce) changed |= reduce_before_expand(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
