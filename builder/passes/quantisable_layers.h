// The layers that calibration may make int8, and which tensors have to be calibrated for that.
#ifndef PLANWRIGHT_BUILDER_PASSES_QUANTISABLE_LAYERS_H_
#define PLANWRIGHT_BUILDER_PASSES_QUANTISABLE_LAYERS_H_

#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/ir/precision_policy.h"

namespace planwright::builder {

struct QuantisableNode {
  ir::QuantisableLayer layer;
  ir::NodeId node = ir::kNone;
  // What it multiplies is `source` as `moves` move it: the same numbers or some of them, so these can move levels too.
  ir::ValueId source = ir::kNone;
  std::vector<ir::NodeId> moves;  // in order of execution
};

// The output that an engine built to be calibrated with has for the layer's activation.
std::string activation_output(const ir::QuantisableLayer& layer);

// A graph's own, in order of execution; those of bodies in it are not among them. Of the graph as it is when its
// patterns are matched and nothing is fused.
std::vector<QuantisableNode> quantisable_nodes(const ir::Graph& graph);

// Fills in their layers' `channel_weights`.
void measure_channel_weights(const ir::Graph& graph, std::vector<QuantisableNode>& nodes);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_QUANTISABLE_LAYERS_H_
