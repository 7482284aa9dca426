// A node of the placed graph as tactics and kernels see it: concrete dims, physical strides.
#ifndef PLANWRIGHT_BUILDER_SPEC_H_
#define PLANWRIGHT_BUILDER_SPEC_H_

#include "builder/box.h"
#include "builder/ir/graph.h"
#include "tactics/step_spec.h"

namespace planwright::builder {

// Throws Error(kInvalid), naming the layer, where a dim at these symbol values is negative or overflows.
tactics::StepSpec make_spec(const ir::Graph& graph, const ir::Node& node, const SymbolValues& values);

// The node with every dim and stride as large as it can be anywhere in the box, each for itself, so not a shape that it
// runs at; scalars as at opt where they have no bounds. What memory a kernel wants grows with each of them.
tactics::StepSpec make_largest_spec(const ir::Graph& graph, const ir::Node& node, const Box& box);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_SPEC_H_
