#include "builder/storage.h"

#include <algorithm>

#include "builder/passes/operand_rules.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

ValueId storage_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.view ? value.view->base : id;
}

}  // namespace

bool moves_nothing(const Graph& graph, const Node& node) {
  if (!is_movement(node) && node.kind != OpKind::kConcat) return false;
  const ValueId storage = storage_of(graph, node.outputs[0]);
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return storage_of(graph, input) == storage; });
}

std::vector<NodeId> steps_of(const Graph& graph) {
  std::vector<NodeId> steps;
  for (const NodeId id : graph.order()) {
    if (!moves_nothing(graph, graph.node(id))) steps.push_back(id);
  }
  return steps;
}

bool is_in_arena(const Graph& graph, ValueId storage) {
  if (graph.value(storage).is_constant() || graph.is_output(storage)) return false;
  return std::find(graph.inputs.begin(), graph.inputs.end(), storage) == graph.inputs.end();
}

std::vector<ValueId> arena_storages_of(const Graph& graph, const Node& node) {
  std::vector<ValueId> storages;
  for (const std::vector<ValueId>* operands : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *operands) {
      if (id != kNone && is_in_arena(graph, storage_of(graph, id))) storages.push_back(storage_of(graph, id));
    }
  }
  std::sort(storages.begin(), storages.end());
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
  return storages;
}

}  // namespace planwright::builder
