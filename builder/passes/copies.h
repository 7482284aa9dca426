// Copy nodes that passes insert where an operand must lie elsewhere.
#ifndef PLANWRIGHT_BUILDER_PASSES_COPIES_H_
#define PLANWRIGHT_BUILDER_PASSES_COPIES_H_

#include <map>
#include <utility>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder {

// `value`'s elements in `layout`, computed before node `before` (kNone: at the end) for the layer that names it.
ir::Value& add_copy(ir::Graph& graph, ir::ValueId value, const ir::Layout& layout, ir::NodeId before);

// Copies made on demand, one for each value and layout. A constant gets no node: another constant of the same elements.
class CopyCache {
 public:
  explicit CopyCache(ir::Graph& graph) : graph_(graph) {}
  // The id of the copy; made before `user`, the first node that asks, if there is none yet. Nodes must ask in order.
  ir::ValueId get(ir::ValueId value, const ir::Layout& layout, const ir::Node& user);

 private:
  ir::Graph& graph_;
  std::map<std::pair<ir::ValueId, std::vector<uint8_t>>, ir::ValueId> copies_;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_COPIES_H_
