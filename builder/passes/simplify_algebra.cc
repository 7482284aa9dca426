// Nodes that do nothing, or that two do what one could: one rule a function.
#include <algorithm>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::kNone;

const ir::Shape& input_dims(const ir::Graph& graph, const ir::Node& node) { return graph.value(node.inputs[0]).dims; }
const ir::Shape& output_dims(const ir::Graph& graph, const ir::Node& node) { return graph.value(node.outputs[0]).dims; }

bool keeps_shape(const ir::Graph& graph, const ir::Node& node) {
  return same_shape(input_dims(graph, node), output_dims(graph, node));
}

// Turns a node into a Reshape of `source` to its own output.
void become_reshape(ir::Node& node, ir::ValueId source) {
  node.kind = OpKind::kReshape;
  node.params = NoParams{};
  node.scalars.clear();
  node.inputs = {source};
  node.core_inputs = 1;
}

bool all_zero(const ir::Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](ir::Dim dim) { return dim == ir::Dim(0); });
}

// ---- Nodes whose output is their input.

bool copies_its_input(const ir::Graph& graph, const ir::Node& node) {
  const ir::SsaProgram program(node.program);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return false;
  return program.at(program.stored(0)).op == PwOp::kLoad &&
         graph.value(node.inputs[0]).dtype == graph.value(node.outputs[0]).dtype;
}

bool whole_slice(const ir::Node& node) {
  const size_t rank = node.scalars.size() / 2;
  for (size_t i = 0; i < rank; ++i) {
    if (!(node.scalars[i] == ir::Dim(0)) || !(node.scalars[rank + i] == ir::Dim(1))) return false;
  }
  return true;
}

bool identity_permutation(const ir::Node& node, int rank) {
  const auto& perm = node.as<TransposeParams>().perm;
  for (int i = 0; i < rank; ++i) {
    if (perm[i] != i) return false;
  }
  return true;
}

// At scale 1 these coordinates map every output element onto the input element of the same index.
bool resizes_in_place(const ir::Node& node, int rank) {
  const auto& params = node.as<ResizeParams>();
  if (params.coordinates == ResizeCoordinates::kTfCropAndResize ||
      params.coordinates == ResizeCoordinates::kTfHalfPixelForNearest) {
    return false;
  }
  return std::all_of(params.scale, params.scale + rank, [](double scale) { return scale == 0 || scale == 1; });
}

bool reduces_length_one(const ir::Graph& graph, const ir::Node& node) {
  switch (node.as<ReduceParams>().kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kProd: return keeps_shape(graph, node);
    default: return false;
  }
}

bool is_identity(const ir::Graph& graph, const ir::Node& node) {
  // A Loop without a trip count has no first input.
  if (node.inputs.empty() || node.inputs[0] == ir::kNone || !keeps_shape(graph, node)) return false;
  const int rank = static_cast<int>(input_dims(graph, node).size());
  switch (node.kind) {
    case OpKind::kPointwise: return copies_its_input(graph, node);
    case OpKind::kReshape:
    case OpKind::kExpand:
    case OpKind::kTile: return true;
    case OpKind::kSlice: return whole_slice(node);
    case OpKind::kTranspose: return identity_permutation(node, rank);
    case OpKind::kConcat: return node.inputs.size() == 1;
    case OpKind::kPad: return all_zero(node.scalars);
    case OpKind::kResize: return resizes_in_place(node, rank);
    case OpKind::kReduce: return reduces_length_one(graph, node);
    default: return false;
  }
}

bool remove_identity(ir::Graph& graph, ir::Node& node) {
  if (!is_identity(graph, node)) return false;
  replace_node(graph, node, node.inputs[0]);
  return true;
}

// ---- Two movements in a row.

bool join_reshapes(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kReshape) return false;
  ir::Node* first = producer_of(graph, node.inputs[0], OpKind::kReshape);
  if (first == nullptr) return false;
  node.inputs[0] = first->inputs[0];
  take_names(node, *first);
  return true;
}

bool join_transposes(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kTranspose) return false;
  ir::Node* first = producer_of(graph, node.inputs[0], OpKind::kTranspose);
  if (first == nullptr) return false;
  TransposeParams joined;
  for (size_t i = 0; i < input_dims(graph, node).size(); ++i) {
    joined.perm[i] = first->as<TransposeParams>().perm[node.as<TransposeParams>().perm[i]];
  }
  node.params = joined;
  node.inputs[0] = first->inputs[0];
  take_names(node, *first);
  return true;
}

// A Transpose that leaves the axes longer than 1 in their order moves no element.
bool transpose_to_reshape(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kTranspose) return false;
  const ir::Shape& dims = input_dims(graph, node);
  int last = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int axis = node.as<TransposeParams>().perm[i];
    if (dims[static_cast<size_t>(axis)] == ir::Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  become_reshape(node, node.inputs[0]);
  return true;
}

// ---- Operands that a program broadcasts by itself.

bool absorb_expand(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kPointwise) return false;
  bool changed = false;
  for (ir::ValueId& operand : node.inputs) {
    const ir::Node* expand = producer_of(graph, operand, OpKind::kExpand);
    if (expand == nullptr) continue;
    operand = expand->inputs[0];
    take_names(node, *expand);
    changed = true;
  }
  return changed;
}

// ---- A constant index is a slice.

// Gather at one constant index: Slice, then the axis goes where the index is a scalar.
bool gather_to_slice(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kGather) return false;
  const ir::Value& indices = graph.value(node.inputs[1]);
  const ir::Shape dims = input_dims(graph, node);
  if (!indices.is_constant() || !(ir::product(indices.dims) == ir::Dim(1))) return false;
  const auto axis = static_cast<size_t>(node.as<GatherParams>().axis);
  const ir::Dim index = static_cast<int64_t>(*splat_of(indices));
  const ir::Dim start = index.constant() < 0 ? dims[axis] + index : index;
  if (!ir::proven_at_most(0, start) || !ir::proven_at_most(start + 1, dims[axis])) return false;

  ir::Shape part = dims;
  part[axis] = 1;
  const ir::Value& data = graph.value(node.inputs[0]);
  const ir::ValueId sliced = graph.add_value(graph.value(node.outputs[0]).name + "/slice", data.dtype, part).id;
  ir::Node& slice = graph.add_node(OpKind::kSlice, SliceParams{}, {node.inputs[0]}, {sliced}, node.id);
  slice.name = node.name;
  slice.onnx = node.onnx;
  slice.scalars = ir::Shape(2 * dims.size(), 0);
  slice.scalars[axis] = start;
  std::fill(slice.scalars.begin() + static_cast<ptrdiff_t>(dims.size()), slice.scalars.end(), ir::Dim(1));
  become_reshape(node, sliced);
  return true;
}

// ---- A sum of squares is one reduction.

bool square_into_sum(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kReduce || node.as<ReduceParams>().kind != ReduceKind::kSum) return false;
  if (only_user(graph, node.inputs[0]) == nullptr) return false;
  const std::optional<OneOp> square = one_op_of(graph, node.inputs[0]);
  if (!square || square->op != PwOp::kMul) return false;
  const ir::ValueId x = square->operands[0].value;
  if (x == kNone || square->operands[1].value != x || !same_shape(graph.value(x).dims, input_dims(graph, node)) ||
      graph.value(x).dtype != graph.value(node.inputs[0]).dtype) {
    return false;
  }
  node.as<ReduceParams>().kind = ReduceKind::kSumSquare;
  node.inputs[0] = x;
  take_names(node, *square->node);
  return true;
}

// ---- Padding that a convolution does by itself.

bool pads_with_zero(const ir::Graph& graph, const ir::Node& pad) {
  if (pad.as<PadParams>().mode != PadMode::kConstant) return false;
  if (pad.inputs.size() < 2 || pad.inputs[1] == kNone) return true;
  return splat_of(graph.value(pad.inputs[1])) == 0.0;
}

bool absorb_pad(ir::Graph& graph, ir::Node& node) {
  // Where there is a zero point, the convolution pads with that.
  if (node.kind != OpKind::kConv || node.core_inputs > 2) return false;
  ir::Node* pad = producer_of(graph, node.inputs[0], OpKind::kPad);
  if (pad == nullptr || only_user(graph, node.inputs[0]) == nullptr || !pads_with_zero(graph, *pad)) return false;
  const size_t rank = pad->scalars.size() / 2;
  for (size_t i = 0; i < pad->scalars.size(); ++i) {
    const bool spatial = i % rank >= 2;
    if (spatial ? !ir::proven_at_most(0, pad->scalars[i]) : !(pad->scalars[i] == ir::Dim(0))) return false;
  }
  // What lies past the input at the end follows from the output's dims.
  for (size_t i = 2; i < rank; ++i) node.scalars[i - 2] = node.scalars[i - 2] + pad->scalars[i];
  node.inputs[0] = pad->inputs[0];
  take_names(node, *pad);
  return true;
}

using Rule = bool (*)(ir::Graph&, ir::Node&);
// remove_identity erases the node, so it comes last.
constexpr Rule kRules[] = {join_reshapes,   join_transposes, transpose_to_reshape, absorb_expand,
                           gather_to_slice, square_into_sum, absorb_pad,           remove_identity};

}  // namespace

bool simplify_algebra(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    for (Rule rule : kRules) {
      if (!graph.has_node(id)) break;
      changed |= rule(graph, graph.node(id));
    }
  }
  return changed;
}

}  // namespace planwright::builder
