// Tensors between quantised layers stay bytes: what does the same to levels as to the numbers they stand for is done to
// the levels, parts of a concatenation are quantised each for itself, numbers are quantised before they are moved, and
// what gives the same levels again is nothing.
#include <algorithm>
#include <optional>
#include <vector>

#include "builder/passes/dequantised.h"
#include "builder/passes/passes.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::kNone;
using ir::Tensor;
using ir::ValueId;

bool is_one_number(const ir::Value& value) { return ir::product(value.dims) == Dim(1); }

// A copy of a Pointwise that reads `to` where the other reads `from`, and makes `result`.
void add_like(ir::Graph& graph, ir::NodeId like, ValueId from, ValueId to, ValueId result, ir::NodeId before) {
  std::vector<ValueId> inputs = graph.node(like).inputs;
  std::replace(inputs.begin(), inputs.end(), from, to);
  ir::Node& node = graph.add_node(OpKind::kPointwise, NoParams{}, std::move(inputs), {result}, before);
  const ir::Node& other = graph.node(like);
  node.program = other.program;
  node.name = other.name;
  node.onnx = other.onnx;
}

bool dequantise_behind(ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (!keeps_levels(node)) return false;
  const std::optional<Dequantised> x = dequantised(graph, node.inputs[0]);
  if (!x || graph.value(x->bytes).is_constant()) return false;
  const std::optional<Tensor> scale = constant_tensor(graph, x->scale);
  if (!scale || scale->data.size() != sizeof(float) || !(element_of(*scale, 0) > 0)) return false;
  const ir::Value out = graph.value(node.outputs[0]);
  if (x->zero != kNone && !is_one_number(graph.value(x->zero))) return false;
  for (const ValueId operand : {x->scale, x->zero}) {
    if (operand != kNone && graph.value(operand).rank() > out.rank()) return false;
  }
  const ir::NodeId like = graph.value(node.inputs[0]).producer;
  const ValueId bytes = graph.add_value(out.name + "/bytes", graph.value(x->bytes).dtype, out.dims).id;
  ir::Node& moved = graph.node(id);
  moved.inputs[0] = x->bytes;
  moved.outputs[0] = bytes;
  graph.value(bytes).producer = id;
  add_like(graph, like, x->bytes, bytes, out.id, node_behind(graph, id));
  return true;
}

// The only operand of a Pointwise that makes bytes that is not a constant number; kNone where there are others.
ValueId quantised_operand(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind != OpKind::kPointwise || node.outputs.size() != 1 || !is_byte(graph.value(node.outputs[0]).dtype)) {
    return kNone;
  }
  ValueId found = kNone;
  for (const ValueId id : node.inputs) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant() && is_one_number(value)) continue;
    if (found != kNone) return kNone;
    found = id;
  }
  return found != kNone && same_shape(graph.value(found).dims, graph.value(node.outputs[0]).dims) ? found : kNone;
}

bool quantise_parts(ir::Graph& graph, ir::NodeId id) {
  const ValueId whole = quantised_operand(graph, graph.node(id));
  if (whole == kNone || only_user(graph, whole) == nullptr) return false;
  const ir::Node* concat = producer_of(graph, whole, OpKind::kConcat);
  if (concat == nullptr || is_byte(graph.value(whole).dtype)) return false;
  const ir::NodeId concat_id = concat->id;
  const ir::Value out = graph.value(graph.node(id).outputs[0]);
  const std::vector<ValueId> parts = concat->inputs;
  std::vector<ValueId> levels;
  for (const ValueId part : parts) {
    levels.push_back(graph.add_value(graph.value(part).name + "/levels", out.dtype, graph.value(part).dims).id);
    add_like(graph, id, whole, part, levels.back(), concat_id);
  }
  graph.node(concat_id).inputs = levels;
  graph.node(concat_id).outputs[0] = out.id;
  graph.erase_node(id);
  graph.value(out.id).producer = concat_id;
  return true;
}

// What moves numbers that are quantised then, and nothing else reads them, moves levels: a quarter of the bytes, and
// their producer makes them while it computes. A Resize may have more to quantise behind it than before, so there
// others may read what it moves.
bool quantise_in_front(ir::Graph& graph, ir::NodeId id) {
  const ValueId whole = quantised_operand(graph, graph.node(id));
  if (whole == kNone || is_byte(graph.value(whole).dtype) || only_user(graph, whole) == nullptr) return false;
  const ir::Node* mover = producer_of(graph, whole);
  if (mover == nullptr || !keeps_levels(*mover)) return false;
  const ir::NodeId mover_id = mover->id;
  const ValueId x = mover->inputs[0];
  if (graph.value(x).is_constant()) return false;
  if (mover->kind != OpKind::kResize && only_user(graph, x) == nullptr) return false;
  for (const ValueId operand : graph.node(id).inputs) {
    if (operand != whole && graph.value(operand).rank() > graph.value(x).rank()) return false;
  }
  const ir::Value out = graph.value(graph.node(id).outputs[0]);
  const ValueId levels = graph.add_value(graph.value(x).name + "/levels", out.dtype, graph.value(x).dims).id;
  add_like(graph, id, whole, x, levels, mover_id);
  graph.node(mover_id).inputs[0] = levels;
  graph.node(mover_id).outputs[0] = out.id;
  graph.erase_node(id);
  graph.value(out.id).producer = mover_id;
  return true;
}

// Whether a program gives each byte that it reads.
bool is_identity(const ir::Graph& graph, const ir::Node& node, ValueId operand) {
  constexpr int64_t kBytes = 256;
  const DType type = graph.value(operand).dtype;
  Tensor all{type, {kBytes}, ir::Bytes(kBytes)};
  for (size_t i = 0; i < all.data.size(); ++i) all.data[i] = static_cast<std::byte>(i);
  std::vector<Tensor> numbers;
  numbers.reserve(node.inputs.size());
  std::vector<const Tensor*> inputs;
  for (const ValueId id : node.inputs) {
    if (id == operand) {
      inputs.push_back(&all);
      continue;
    }
    numbers.push_back({graph.value(id).dtype, {}, *graph.value(id).constant});
    inputs.push_back(&numbers.back());
  }
  return ir::run_reference(node, inputs, {}, {type}, {{kBytes}})[0].data == all.data;
}

bool drop_identity(ir::Graph& graph, ir::NodeId id) {
  ir::Node& node = graph.node(id);
  const ValueId operand = quantised_operand(graph, node);
  if (operand == kNone || graph.value(operand).dtype != graph.value(node.outputs[0]).dtype) return false;
  if (graph.is_output(node.outputs[0]) || !is_identity(graph, node, operand)) return false;
  replace_node(graph, node, operand);
  return true;
}

}  // namespace

bool keep_bytes(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    if (graph.has_node(id)) changed |= dequantise_behind(graph, id);
    if (graph.has_node(id)) changed |= quantise_parts(graph, id);
    if (graph.has_node(id)) changed |= quantise_in_front(graph, id);
    if (graph.has_node(id)) changed |= drop_identity(graph, id);
  }
  return changed;
}

}  // namespace planwright::builder
