// What the placed graph means for memory: which nodes become steps, and which storages a step touches.
#ifndef PLANWRIGHT_BUILDER_STORAGE_H_
#define PLANWRIGHT_BUILDER_STORAGE_H_

#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder {

// Whether the node's outputs lie where its inputs do, so that there is nothing to run.
bool moves_nothing(const ir::Graph& graph, const ir::Node& node);

// The nodes that become steps, in order.
std::vector<ir::NodeId> steps_of(const ir::Graph& graph);

// Whether the storage (a value without a view) is in the arena: not a constant, not a buffer of the caller.
bool is_in_arena(const ir::Graph& graph, ir::ValueId storage);

// The storages in the arena that the node reads or writes, once each, ascending.
std::vector<ir::ValueId> arena_storages_of(const ir::Graph& graph, const ir::Node& node);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_STORAGE_H_
