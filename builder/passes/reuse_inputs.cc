// Writes a pointwise result over an input that nothing reads afterwards: the output becomes a view of the input's
// storage, and one buffer less is alive. Runs last, when the order of execution is settled.
//
// Only pointwise steps: they read each element before they write it, and never again. An epilogue does so too, but a
// contraction's tiles may overlap at the edges.
#include <algorithm>
#include <map>

#include "builder/passes/passes.h"
#include "builder/storage.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::Placement;
using ir::Value;
using ir::ValueId;

class ReusePass {
 public:
  explicit ReusePass(Graph& graph) : graph_(graph), steps_(steps_of(graph)) {
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const ValueId storage : arena_storages_of(graph, graph.node(steps_[step]))) last_use_[storage] = step;
    }
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).view) views_[graph.value(id).view->base].push_back(id);
    }
  }

  bool run() {
    bool changed = false;
    for (size_t step = 0; step < steps_.size(); ++step) {
      const Node& node = graph_.node(steps_[step]);
      if (node.kind != OpKind::kPointwise || node.outputs.size() != 1) continue;
      Value& output = graph_.value(node.outputs[0]);
      if (output.view || !is_in_arena(graph_, output.id)) continue;
      for (const ValueId input : node.inputs) {
        if (!may_overwrite(node, input, output, step)) continue;
        move_into(output, placement_of(graph_, input));
        changed = true;
        break;
      }
    }
    return changed;
  }

 private:
  bool may_overwrite(const Node& node, ValueId input, const Value& output, size_t step) const {
    const Value& value = graph_.value(input);
    const Placement place = placement_of(graph_, input);
    if (!is_in_arena(graph_, place.storage) || last_use_.at(place.storage) != step) return false;
    if (value.dtype != output.dtype || value.dims != output.dims) return false;
    if (place.strides != placement_of(graph_, output.id).strides) return false;
    // Another operand that looks at the same storage from elsewhere, or at part of it that it repeats, would see
    // elements already overwritten.
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Placement other = placement_of(graph_, id);
      return other.storage != place.storage ||
             (other.offset == place.offset && other.strides == place.strides && graph_.value(id).dims == output.dims);
    });
  }

  void move_into(Value& output, const Placement& place) {
    // What lies in the output's storage goes along; its strides are the same there.
    std::vector<ValueId> moved = std::move(views_[output.id]);
    views_.erase(output.id);
    for (const ValueId id : moved) {
      graph_.value(id).view->base = place.storage;
      graph_.value(id).view->offset = graph_.value(id).view->offset + place.offset;
    }
    output.view = ir::View{place.storage, place.offset, place.strides};
    moved.push_back(output.id);
    std::vector<ValueId>& list = views_[place.storage];
    list.insert(list.end(), moved.begin(), moved.end());
    last_use_[place.storage] = last_use_.at(output.id);
  }

  Graph& graph_;
  std::vector<NodeId> steps_;
  std::map<ValueId, size_t> last_use_;  // of a storage, by step
  std::map<ValueId, std::vector<ValueId>> views_;
};

}  // namespace

bool reuse_inputs(Graph& graph) { return ReusePass(graph).run(); }

}  // namespace planwright::builder
