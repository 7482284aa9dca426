// Which values may lie in memory as bf16: those that kernels in bf16 hand to one another, which round them anyway.
#ifndef PLANWRIGHT_BUILDER_HALF_STORAGE_H_
#define PLANWRIGHT_BUILDER_HALF_STORAGE_H_

#include <set>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder {

// Makes such values of a graph bf16, and fp32 again. In bf16 a value takes half the memory and half the traffic, and
// tiles of bf16 read it where it lies.
class HalfStorage {
 public:
  // `multiplying`: the contractions of the graph (not of bodies in it) whose kernel multiplies in bf16.
  HalfStorage(ir::Graph& graph, const std::set<ir::NodeId>& multiplying);

  bool empty() const { return values_.empty(); }
  // Needs the kernels of all nodes that touch such a value to be chosen again.
  void apply();
  void undo();

 private:
  ir::Graph& graph_;
  std::vector<ir::ValueId> values_;
  std::vector<ir::NodeId> converting_;  // given a program that says which type they store
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_HALF_STORAGE_H_
