#include <algorithm>

#include "builder/emit.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class NameKeeper {
 public:
  NameKeeper(const Graph& graph, const std::vector<NodeId>& steps) : graph_(graph), users_(graph) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const size_t id = static_cast<size_t>(steps[i]);
      if (id >= step_.size()) step_.resize(id + 1, kNone);
      step_[id] = static_cast<int32_t>(i);
    }
  }

  // The step that keeps the node's names; kNone if there is none.
  int32_t keeper_of(NodeId id) const {
    if (const int32_t own = step_of(id); own != kNone) return own;
    const int32_t maker = maker_of(graph_.node(id));
    return maker != kNone ? maker : reader_of(graph_.node(id));
  }

 private:
  int32_t step_of(NodeId id) const {
    return static_cast<size_t>(id) < step_.size() ? step_[static_cast<size_t>(id)] : kNone;
  }

  int32_t maker_of(const Node& node) const {
    NodeId producer = graph_.value(node.inputs[0]).producer;
    while (producer != kNone && step_of(producer) == kNone) {
      producer = graph_.value(graph_.node(producer).inputs[0]).producer;
    }
    return producer == kNone ? kNone : step_of(producer);
  }

  int32_t reader_of(const Node& node) const {
    std::vector<ValueId> waiting = {node.outputs[0]};
    int32_t first = kNone;
    for (size_t i = 0; i < waiting.size(); ++i) {
      for (const NodeId user : users_.of(waiting[i])) {
        const int32_t step = step_of(user);
        if (step == kNone) {
          waiting.push_back(graph_.node(user).outputs[0]);
        } else if (first == kNone || step < first) {
          first = step;
        }
      }
    }
    return first;
  }

  const Graph& graph_;
  ir::Users users_;
  std::vector<int32_t> step_;  // by node
};

}  // namespace

std::vector<std::vector<std::string>> onnx_names(const Graph& graph, const std::vector<NodeId>& steps) {
  const NameKeeper keeper(graph, steps);
  std::vector<std::vector<std::string>> names(steps.size());
  for (const NodeId id : graph.order()) {
    const int32_t step = keeper.keeper_of(id);
    if (step == kNone) continue;
    std::vector<std::string>& list = names[static_cast<size_t>(step)];
    for (const std::string& name : graph.node(id).onnx) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }
  }
  return names;
}

}  // namespace planwright::builder
