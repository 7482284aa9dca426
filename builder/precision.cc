#include "builder/precision.h"

#include <algorithm>
#include <vector>

namespace planwright::builder {
namespace {

bool takes_logarithm(const ir::Node& node) {
  return std::any_of(node.program.begin(), node.program.end(),
                     [](const PwInstr& instruction) { return instruction.op == PwOp::kLog; });
}

}  // namespace

std::vector<ir::NodeId> contractions_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> list;
  for (const ir::NodeId id : graph.order()) {
    if (takes_epilogue(graph.node(id).kind)) list.push_back(id);
  }
  return list;
}

std::set<ir::NodeId> nodes_before_logarithms(const ir::Graph& graph) {
  std::set<ir::NodeId> found, seen;
  std::vector<ir::NodeId> open;
  const auto visit_inputs = [&](const ir::Node& node) {
    for (const ir::ValueId input : node.inputs) {
      if (input == ir::kNone) continue;
      const ir::NodeId producer = graph.value(input).producer;
      if (producer != ir::kNone && seen.insert(producer).second) open.push_back(producer);
    }
  };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!takes_logarithm(node)) continue;
    // A contraction's program may add what another made.
    if (takes_epilogue(node.kind)) found.insert(id);
    visit_inputs(node);
  }
  while (!open.empty()) {
    const ir::NodeId id = open.back();
    open.pop_back();
    const ir::Node& node = graph.node(id);
    if (takes_epilogue(node.kind)) {
      found.insert(id);
    } else if (node.kind != OpKind::kSoftmax) {
      visit_inputs(node);
    }
  }
  return found;
}

}  // namespace planwright::builder
