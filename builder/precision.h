// Which layers keep the precision of their type even where --bf16 allows less.
#ifndef PLANWRIGHT_BUILDER_PRECISION_H_
#define PLANWRIGHT_BUILDER_PRECISION_H_

#include <set>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder {

// A graph's own contractions, in order of execution; those of bodies in it are not among them.
std::vector<ir::NodeId> contractions_of(const ir::Graph& graph);

// The contractions whose results reach a logarithm before any other contraction or Softmax, as those of a spectrogram
// do: what bf16 loses of the smallest of them, next to large ones, a logarithm makes as large as anything else.
std::set<ir::NodeId> nodes_before_logarithms(const ir::Graph& graph);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PRECISION_H_
