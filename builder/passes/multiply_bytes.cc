// Products of integers whose first operand is bytes less a zero point, and whose second is constant and fits into int8,
// multiply the bytes: with the zero point as an operand of their own, as kernels for bytes want it.
#include <cstring>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::kNone;
using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;
using ir::ValueId;

// What a program computes behind changes from one class of integers to the other.
const SsaInstr& unconverted(const SsaProgram& program, PwValue value) {
  const auto is_change = [&](const SsaInstr& instr) {
    if (instr.op == PwOp::kNarrow) return static_cast<DType>(instr.operand) == DType::kI32;
    return instr.op == PwOp::kConvert && (instr.from == PwClass::kInt || instr.from == PwClass::kUint);
  };
  while (is_change(program.at(value))) value = program.at(value).read[0];
  return program.at(value);
}

// Bytes less a zero point: none, an operand, or a number.
struct Centred {
  ValueId bytes = kNone, zero = kNone;
  int64_t number = 0;
};

std::optional<Centred> centred_bytes(const ir::Graph& graph, ValueId id) {
  const ir::Node* node = producer_of(graph, id, OpKind::kPointwise);
  if (node == nullptr || node->outputs.size() != 1 || graph.value(id).dtype != DType::kI32) return std::nullopt;
  const SsaProgram program(node->program);
  const auto operand = [&](const SsaInstr& instr) {
    if (instr.op != PwOp::kLoad) return kNone;
    const ValueId loaded = node->inputs[instr.operand];
    return is_byte(graph.value(loaded).dtype) ? loaded : kNone;
  };
  const SsaInstr* x = &unconverted(program, program.stored(0));
  Centred found;
  if (x->op == PwOp::kSub && x->type == PwClass::kInt) {
    const SsaInstr& zero = unconverted(program, x->read[1]);
    x = &unconverted(program, x->read[0]);
    if (zero.op == PwOp::kConst) {
      found.number = static_cast<int64_t>(zero.bits);
    } else if (found.zero = operand(zero);
               found.zero == kNone || !(ir::product(graph.value(found.zero).dims) == Dim(1))) {
      return std::nullopt;
    }
  }
  found.bytes = operand(*x);
  if (found.bytes == kNone || !same_shape(graph.value(found.bytes).dims, graph.value(id).dims)) return std::nullopt;
  const DType type = graph.value(found.bytes).dtype;
  if (found.zero != kNone && graph.value(found.zero).dtype != type) return std::nullopt;
  const int64_t least = type == DType::kU8 ? 0 : -128;
  if (found.number < least || found.number > least + 255) return std::nullopt;
  return found;
}

// nullopt where an element does not fit.
std::optional<ir::Bytes> as_int8(const ir::Value& weights) {
  ir::Bytes bytes(weights.constant->size() / sizeof(int32_t));
  for (size_t i = 0; i < bytes.size(); ++i) {
    int32_t element;
    std::memcpy(&element, weights.constant->data() + i * sizeof element, sizeof element);
    if (element < INT8_MIN || element > INT8_MAX) return std::nullopt;
    bytes[i] = static_cast<std::byte>(element);
  }
  return bytes;
}

bool multiply_bytes_of(ir::Graph& graph, ir::Node& node) {
  const ir::Value& weights = graph.value(node.inputs[1]);
  if (!weights.is_constant() || weights.dtype != DType::kI32 || !node.program.empty()) return false;
  const std::optional<Centred> centred = centred_bytes(graph, node.inputs[0]);
  if (!centred) return false;
  std::optional<ir::Bytes> bytes = as_int8(weights);
  if (!bytes) return false;
  const std::vector<int64_t> dims = constant_dims(weights);
  const std::string name = weights.name;
  node.inputs = {centred->bytes, graph.add_constant(name + "/bytes", DType::kI8, dims, std::move(*bytes)).id};
  if (centred->zero != kNone) {
    node.inputs.push_back(centred->zero);
  } else if (centred->number != 0) {
    const ir::Value& x = graph.value(centred->bytes);
    const DType type = x.dtype;
    const std::string zero_name = x.name + "/zero";
    node.inputs.push_back(
        graph.add_constant(zero_name, type, {}, ir::Bytes{static_cast<std::byte>(centred->number)}).id);
  }
  node.core_inputs = static_cast<int32_t>(node.inputs.size());
  return true;
}

}  // namespace

bool multiply_bytes(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kMatMul || node.kind == OpKind::kConv) changed |= multiply_bytes_of(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
