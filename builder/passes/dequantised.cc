#include "builder/passes/dequantised.h"

#include <cstring>

namespace planwright::builder {

using ir::Dim;
using ir::kNone;
using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;
using ir::Tensor;
using ir::ValueId;

namespace {

std::optional<std::vector<int64_t>> dims_of(const ir::Value& value) {
  std::vector<int64_t> dims;
  for (const Dim dim : value.dims) {
    if (!dim.is_constant()) return std::nullopt;
    dims.push_back(dim.constant());
  }
  return dims;
}

}  // namespace

// What a node that only moves elements makes of other ones than those in the graph.
std::optional<Tensor> moved_elements(const ir::Graph& graph, const ir::Node& node, const Tensor& x) {
  const std::optional<std::vector<int64_t>> dims = dims_of(graph.value(node.outputs[0]));
  const bool moves = node.kind == OpKind::kReshape || node.kind == OpKind::kTranspose;
  if (!moves || !dims) return std::nullopt;
  return ir::run_reference(node, {&x}, {}, {x.dtype}, {*dims})[0];
}

const ir::Node* moving_node(const ir::Graph& graph, ValueId id) {
  const ir::Node* node = producer_of(graph, id);
  return node != nullptr && (node->kind == OpKind::kReshape || node->kind == OpKind::kTranspose) ? node : nullptr;
}

bool keeps_levels(const ir::Node& node) {
  if (node.kind == OpKind::kReshape || node.kind == OpKind::kTranspose) return true;
  if (node.kind == OpKind::kResize) {
    const auto& resize = node.as<ResizeParams>();
    return resize.mode == ResizeMode::kNearest && resize.coordinates != ResizeCoordinates::kTfCropAndResize;
  }
  return node.kind == OpKind::kPool && node.as<PoolParams>().kind == PoolKind::kMax &&
         (node.outputs.size() == 1 || node.outputs[1] == kNone);
}

// A constant, or one whose elements are still to be moved.
std::optional<Tensor> constant_tensor(const ir::Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  if (value.is_constant()) return Tensor{value.dtype, constant_dims(value), *value.constant};
  const ir::Node* node = moving_node(graph, id);
  const std::optional<Tensor> from = node == nullptr ? std::nullopt : constant_tensor(graph, node->inputs[0]);
  return from ? moved_elements(graph, *node, *from) : std::nullopt;
}

double element_of(const Tensor& tensor, size_t i) {
  const std::byte* at = tensor.data.data() + i * size_of(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kI8: return static_cast<int8_t>(*at);
    case DType::kU8: return static_cast<uint8_t>(*at);
    default: break;
  }
  float number;
  std::memcpy(&number, at, sizeof number);
  return static_cast<double>(number);
}

std::optional<Dequantised> dequantised(const ir::Graph& graph, ValueId id) {
  const ir::Node* node = producer_of(graph, id, OpKind::kPointwise);
  if (node == nullptr || node->outputs.size() != 1 || graph.value(id).dtype != DType::kF32) return std::nullopt;
  const SsaProgram program(node->program);
  const auto unconverted = [&](PwValue value) -> const SsaInstr& {
    while (program.at(value).op == PwOp::kConvert) value = program.at(value).read[0];
    return program.at(value);
  };
  const auto operand = [&](const SsaInstr& instr) {
    return instr.op == PwOp::kLoad ? node->inputs[instr.operand] : kNone;
  };
  const SsaInstr& product = program.at(program.stored(0));
  if (product.op != PwOp::kMul || product.type != PwClass::kFloat) return std::nullopt;
  const SsaInstr* level = &unconverted(product.read[0]);
  Dequantised found;
  found.scale = operand(program.at(product.read[1]));
  if (level->op == PwOp::kSub && level->type == PwClass::kInt) {
    found.zero = operand(unconverted(level->read[1]));
    if (found.zero == kNone) return std::nullopt;
    level = &unconverted(level->read[0]);
  }
  found.bytes = operand(*level);
  if (found.bytes == kNone || found.scale == kNone) return std::nullopt;
  const DType type = graph.value(found.bytes).dtype;
  if (!is_byte(type) || graph.value(found.scale).dtype != DType::kF32) return std::nullopt;
  if (found.zero != kNone && graph.value(found.zero).dtype != type) return std::nullopt;
  if (!same_shape(graph.value(found.bytes).dims, graph.value(id).dims)) return std::nullopt;
  return found;
}

}  // namespace planwright::builder
