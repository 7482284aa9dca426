// Step results: symbols that are elements of a value some node computes. What depends on one waits for that node as it
// waits for the producers of its inputs.
#ifndef PLANWRIGHT_BUILDER_IR_RESULTS_H_
#define PLANWRIGHT_BUILDER_IR_RESULTS_H_

#include <vector>

#include "builder/ir/graph.h"

namespace planwright::ir {

// The values whose elements the expressions depend on, once each.
std::vector<ValueId> results_in(const Graph& graph, const Shape& dims);

// Those that a node waits for: of its scalars, and of its operands' dims and places.
std::vector<ValueId> results_read_by(const Graph& graph, const Node& node);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_RESULTS_H_
