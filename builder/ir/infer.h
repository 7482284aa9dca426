// Output types and dims of core operators: used by importers to make nodes and by the verifier to check them.
#ifndef PLANWRIGHT_BUILDER_IR_INFER_H_
#define PLANWRIGHT_BUILDER_IR_INFER_H_

#include <optional>
#include <string>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::ir {

// The dims numpy broadcasting gives. Where two dims are neither proven equal nor proven 1, their equality becomes a
// guard of `layer`. Throws Error(kInvalid) where they are proven different. `guards` receives the guards.
Shape broadcast_shapes(const std::vector<Shape>& shapes, const std::string& layer, std::vector<Guard>* guards);

// Whether a tensor may be spread to `to`: a dim can turn out to be 1, or as long as the other, at each shape that the
// guards let through.
bool may_broadcast(const Shape& from, const Shape& to);

// What the operator makes of its inputs: dims of each output, std::nullopt for one that the attributes leave open
// (Conv, ConvTranspose, Pool, Resize, Reshape, Expand, Tile, Slice, Pad, Fill, Range, TopK, OneHot: the node's own
// outputs say). Throws Error(kInvalid), naming node.name, when the inputs cannot be right (rank, channels, axes).
// Guards that make an unproven match hold are appended to `guards`.
std::vector<std::optional<Shape>> infer_dims(const Graph& graph, const Node& node, std::vector<Guard>* guards);

// The type of each output as the inputs determine it; std::nullopt where the node's outputs say (Pointwise, Fill,
// Range, OneHot takes its values').
std::vector<std::optional<DType>> infer_types(const Graph& graph, const Node& node);

// Floor((in + begin + end - dilation*(kernel-1) - 1) / stride) + 1, or with ceil (ONNX ceil_mode: the last window must
// start inside the input or its begin padding).
Dim window_output(Dim in, Dim pad_begin, Dim pad_end, int64_t kernel, int64_t stride, int64_t dilation, bool ceil);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_INFER_H_
