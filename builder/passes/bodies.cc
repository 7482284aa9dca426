// What a graph and the bodies of its If and Loop nodes have to settle between them.
#include <algorithm>

#include "builder/ir/control.h"
#include "builder/passes/copies.h"
#include "builder/passes/passes.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

// Formal inputs that have a part of their own in a Loop, whether they are read or not.
size_t fixed_formals(const Node& node) {
  return node.kind == OpKind::kLoop ? 1 + static_cast<size_t>(node.as<ir::LoopParams>().carried) : 0;
}

// Takes formal input `formal` and its operand away; returns the input's value.
ValueId remove_formal(Node& node, size_t body, size_t formal) {
  const size_t operand = operand_behind(node, body, formal);
  node.inputs.erase(node.inputs.begin() + static_cast<ptrdiff_t>(operand));
  node.core_inputs = static_cast<int32_t>(node.inputs.size());
  std::vector<ValueId>& inputs = node.bodies[body]->inputs;
  const ValueId value = inputs[formal];
  inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(formal));
  return value;
}

bool is_read(const Graph& body, ValueId id) { return body.is_output(id) || !body.users(id).empty(); }

// Calls `visit(node, body)` for every body.
template <typename Visit>
bool for_each_body(Graph& graph, const Visit& visit) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    for (size_t body = 0; body < graph.node(id).bodies.size(); ++body) changed |= visit(graph.node(id), body);
  }
  return changed;
}

}  // namespace

bool give_constants(Graph& graph) {
  return for_each_body(graph, [&](Node& node, size_t b) {
    Graph& body = *node.bodies[b];
    bool changed = false;
    for (size_t i = body.inputs.size(); i-- > fixed_formals(node);) {
      const Value& outside = graph.value(value_behind(node, b, i));
      if (!outside.is_constant()) continue;
      Value& inside = body.value(remove_formal(node, b, i));
      inside.constant = outside.constant;
      inside.elements = outside.elements;
      changed = true;
    }
    return changed;
  });
}

bool drop_unread_operands(Graph& graph) {
  return for_each_body(graph, [&](Node& node, size_t b) {
    Graph& body = *node.bodies[b];
    bool changed = false;
    for (size_t i = body.inputs.size(); i-- > fixed_formals(node);) {
      if (is_read(body, body.inputs[i])) continue;
      remove_formal(node, b, i);
      changed = true;
    }
    return changed;
  });
}

bool return_states(Graph& graph) {
  return for_each_body(graph, [&](Node& node, size_t b) {
    Graph& body = *node.bodies[b];
    bool changed = false;
    for (size_t i = 0; i < body.outputs.size() && is_carried(node, i); ++i) {
      // At the end of the body, once every value that is handed on has been computed from those handed in.
      ir::Value& copy = add_copy(body, body.outputs[i], {}, ir::kNone);
      body.node(copy.producer).name = node.name;
      body.outputs[i] = copy.id;
      changed = true;
    }
    return changed;
  });
}

}  // namespace planwright::builder
