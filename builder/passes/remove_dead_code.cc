#include <vector>

#include "builder/ir/results.h"
#include "builder/passes/passes.h"
#include "tactics/kernels/custom.h"

namespace planwright::builder {
namespace {

// Optional outputs nobody reads are not computed. A first output always is, a Pointwise node's program stores to all of
// its, and what bodies make has its place.
bool drop_unread_outputs(ir::Graph& graph, ir::Node& node, const std::vector<char>& read) {
  bool changed = false;
  if (node.kind == OpKind::kPointwise || is_control(node.kind)) return false;
  const auto required =
      static_cast<size_t>(node.kind == OpKind::kCustom ? node.as<ir::CustomParams>().op->functions.min_outputs
                                                       : arity_of(node.kind).min_outputs);
  for (size_t i = required; i < node.outputs.size(); ++i) {
    ir::ValueId& output = node.outputs[i];
    if (output == ir::kNone || read[static_cast<size_t>(output)] != 0) continue;
    graph.value(output).producer = ir::kNone;
    output = ir::kNone;
    changed = true;
  }
  while (node.outputs.size() > required && node.outputs.back() == ir::kNone) node.outputs.pop_back();
  return changed;
}

}  // namespace

bool remove_dead_code(ir::Graph& graph) {
  std::vector<char> read(static_cast<size_t>(graph.value_count()), 0);
  for (ir::ValueId id : graph.outputs) read[static_cast<size_t>(id)] = 1;
  for (const ir::Guard& guard : graph.guards) {
    for (ir::ValueId id : results_in(graph, {guard.left, guard.right})) read[static_cast<size_t>(id)] = 1;
  }
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    ir::Node& node = graph.node(*at);
    bool live = false;
    for (ir::ValueId id : node.outputs) live |= id != ir::kNone && read[static_cast<size_t>(id)] != 0;
    if (!live) {
      graph.erase_node(node.id);
      changed = true;
      continue;
    }
    changed |= drop_unread_outputs(graph, node, read);
    for (ir::ValueId id : node.inputs) {
      if (id != ir::kNone) read[static_cast<size_t>(id)] = 1;
    }
    for (ir::ValueId id : results_read_by(graph, node)) read[static_cast<size_t>(id)] = 1;
  }
  // Constants that other passes replaced give their memory back: weights would be held twice.
  for (ir::ValueId id = 0; id < graph.value_count(); ++id) {
    if (read[static_cast<size_t>(id)] == 0) graph.value(id).constant = nullptr;
  }
  return changed;
}

}  // namespace planwright::builder
