// Pointwise into Pointwise: one program, so that what lies between never goes to memory.
#include <algorithm>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaProgram;
using ir::ValueId;

bool reads_sums(const ir::Graph& graph, const ir::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const ir::Node* producer = producer_of(graph, id);
    return producer != nullptr && is_byte_contraction(graph, *producer);
  });
}

// Where two products of bytes are added, one is an epilogue's residual: in bytes or floats, as its own epilogue makes
// them, not in int32. What makes bytes of sums is for fuse_epilogues in any case.
bool is_for_epilogue(const ir::Graph& graph, const ir::Node& producer, const ir::Node& user) {
  return reads_sums(graph, producer) && (is_byte(graph.value(producer.outputs[0]).dtype) || reads_sums(graph, user));
}

// Floats made of bytes: to make them again for each reader takes less than to read a float in place of a byte.
bool is_of_bytes(const ir::Graph& graph, const ir::Node& node) {
  constexpr size_t kMostInstructions = 8;
  return node.inputs.size() == 1 && is_byte(graph.value(node.inputs[0]).dtype) &&
         graph.value(node.outputs[0]).dtype == DType::kF32 && node.program.size() <= kMostInstructions;
}

// Whether that would have other readers wait for the whole of it: Pointwise, which had rather read bytes.
bool is_read_as_bytes(const ir::Graph& graph, const ir::Node& node) {
  if (!is_of_bytes(graph, node)) return false;
  const ir::Users users(graph);
  const std::vector<ir::NodeId>& readers = users.of(node.outputs[0]);
  return readers.size() > 1 && std::any_of(readers.begin(), readers.end(),
                                           [&](ir::NodeId id) { return graph.node(id).kind == OpKind::kPointwise; });
}

// Whether computing the value inside `user`'s loop does no element twice: one reader, over the same elements.
bool can_inline(ir::Graph& graph, const ir::Node& producer, const ir::Node& user) {
  if (producer.kind != OpKind::kPointwise || producer.outputs.size() != 1) return false;
  if (is_of_bytes(graph, producer)) {
    return same_shape(graph.value(producer.outputs[0]).dims, graph.value(user.outputs[0]).dims);
  }
  const ir::Node* reader = only_user(graph, producer.outputs[0]);
  if (is_for_epilogue(graph, producer, user) || is_read_as_bytes(graph, user)) return false;
  return reader == &user && same_shape(graph.value(producer.outputs[0]).dims, graph.value(user.outputs[0]).dims);
}

// The element as it would have been read back from memory.
PwValue as_stored(SsaProgram& program, PwValue value, DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI64:
    case DType::kU64: return value;  // as wide as the class it is computed in
    default: return program.narrow(value, type);
  }
}

// `user` with the program of `producer` in place of the operand it made; false where the joint program is too long.
bool join(ir::Graph& graph, const ir::Node& producer, ir::Node& user) {
  SsaProgram joined;
  std::vector<ValueId> operands = producer.inputs;
  std::vector<PwValue> loads;
  for (size_t i = 0; i < producer.inputs.size(); ++i) {
    loads.push_back(joined.load(static_cast<int>(i), class_of(graph.value(producer.inputs[i]).dtype)));
  }
  const ir::Value& between = graph.value(producer.outputs[0]);
  const PwValue made =
      as_stored(joined, inline_program(joined, SsaProgram(producer.program), loads, -1)[0], between.dtype);

  const SsaProgram outer(user.program);
  std::vector<PwValue> user_loads;
  for (ValueId id : user.inputs) {
    if (id == between.id) {
      user_loads.push_back(made);
      continue;
    }
    user_loads.push_back(joined.load(static_cast<int>(operands.size()), class_of(graph.value(id).dtype)));
    operands.push_back(id);
  }
  const std::vector<PwValue> stored = inline_program(joined, outer, user_loads, -1);
  for (size_t i = 0; i < stored.size(); ++i) joined.store(stored[i], static_cast<int>(i));
  return set_program(user, joined, operands);
}

bool join_producers(ir::Graph& graph, ir::Node& user) {
  bool changed = false;
  for (size_t i = 0; i < user.inputs.size();) {
    ir::Node* producer = producer_of(graph, user.inputs[i]);
    if (producer == nullptr || !can_inline(graph, *producer, user) || !join(graph, *producer, user)) {
      ++i;
      continue;
    }
    take_names(user, *producer);
    if (!graph.is_output(producer->outputs[0]) && ir::Users(graph).of(producer->outputs[0]).empty()) {
      graph.erase_node(producer->id);
    }
    changed = true;
    i = 0;  // the operands are others now
  }
  return changed;
}

}  // namespace

bool fuse_pointwise(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    if (!graph.has_node(id)) continue;
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kPointwise) changed |= join_producers(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
