// Names for what a model computes that stay when nothing but names, shapes or the device change.
#ifndef PLANWRIGHT_BUILDER_STRUCTURE_HASH_H_
#define PLANWRIGHT_BUILDER_STRUCTURE_HASH_H_

#include <cstdint>
#include <unordered_map>

#include "builder/ir/graph.h"

namespace planwright::builder {

// Hashes of a graph's values: of the operators that produce one, their attributes and programs, the constants that they
// read, and which of the graph's inputs they begin with. Sizes that depend on shapes are no part of it.
class StructureHash {
 public:
  explicit StructureHash(const ir::Graph& graph) : graph_(graph) {}
  uint64_t of(ir::ValueId id);

 private:
  uint64_t of_node(const ir::Node& node);

  const ir::Graph& graph_;
  std::unordered_map<ir::ValueId, uint64_t> known_;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_STRUCTURE_HASH_H_
