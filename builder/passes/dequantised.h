// What passes read of models that say how their tensors are quantised.
#ifndef PLANWRIGHT_BUILDER_PASSES_DEQUANTISED_H_
#define PLANWRIGHT_BUILDER_PASSES_DEQUANTISED_H_

#include <optional>

#include "builder/ir/interpret.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {

// The Reshape or Transpose that computes a value; null where another node does.
const ir::Node* moving_node(const ir::Graph& graph, ir::ValueId id);
// What such a node makes of other elements than those in the graph.
std::optional<ir::Tensor> moved_elements(const ir::Graph& graph, const ir::Node& node, const ir::Tensor& x);
// A constant, or one whose elements are still to be moved.
std::optional<ir::Tensor> constant_tensor(const ir::Graph& graph, ir::ValueId id);
// Whether the operator does the same to levels of one positive scale as to the numbers that they stand for.
bool keeps_levels(const ir::Node& node);
// Of int8, uint8 or fp32.
double element_of(const ir::Tensor& tensor, size_t i);

// What a Pointwise dequantises: bytes less a zero point (kNone: 0), times a scale.
struct Dequantised {
  ir::ValueId bytes = ir::kNone, zero = ir::kNone, scale = ir::kNone;
};
std::optional<Dequantised> dequantised(const ir::Graph& graph, ir::ValueId id);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_DEQUANTISED_H_
