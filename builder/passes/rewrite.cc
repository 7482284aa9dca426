#include "builder/passes/rewrite.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/types/minifloat.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;
using ir::ValueId;

template <typename T>
T element_at(const ir::Bytes& data, size_t index) {
  T element;
  std::memcpy(&element, data.data() + index * sizeof(T), sizeof(T));
  return element;
}

std::optional<double> exact_double(int64_t value) {
  constexpr int64_t kLimit = int64_t{1} << 53;
  return value >= -kLimit && value <= kLimit ? std::optional(static_cast<double>(value)) : std::nullopt;
}

std::optional<double> element_as_double(const ir::Value& value, size_t index) {
  const ir::Bytes& data = *value.constant;
  switch (value.dtype) {
    case DType::kF32: return element_at<float>(data, index);
    case DType::kF64: return element_at<double>(data, index);
    case DType::kF16: return float_of_f16(element_at<uint16_t>(data, index));
    case DType::kBF16: return float_of_bf16(element_at<uint16_t>(data, index));
    case DType::kI8: return element_at<int8_t>(data, index);
    case DType::kI16: return element_at<int16_t>(data, index);
    case DType::kI32: return element_at<int32_t>(data, index);
    case DType::kI64: return exact_double(element_at<int64_t>(data, index));
    case DType::kU8:
    case DType::kBool: return element_at<uint8_t>(data, index);
    case DType::kU16: return element_at<uint16_t>(data, index);
    case DType::kU32: return element_at<uint32_t>(data, index);
    case DType::kU64: {
      const auto element = element_at<uint64_t>(data, index);
      return element > INT64_MAX ? std::nullopt : exact_double(static_cast<int64_t>(element));
    }
    default: return value_of_byte(value.dtype, element_at<uint8_t>(data, index));
  }
}

bool commutes(PwOp op) { return op == PwOp::kAdd || op == PwOp::kMul || op == PwOp::kMin || op == PwOp::kMax; }

}  // namespace

const ir::Node* producer_of(const ir::Graph& graph, ValueId id) {
  if (id == kNone || graph.value(id).producer == kNone) return nullptr;
  return &graph.node(graph.value(id).producer);
}

ir::Node* producer_of(ir::Graph& graph, ValueId id) {
  return const_cast<ir::Node*>(producer_of(std::as_const(graph), id));
}

const ir::Node* producer_of(const ir::Graph& graph, ValueId id, OpKind kind) {
  const ir::Node* node = producer_of(graph, id);
  return node != nullptr && node->kind == kind ? node : nullptr;
}

ir::Node* producer_of(ir::Graph& graph, ValueId id, OpKind kind) {
  return const_cast<ir::Node*>(producer_of(std::as_const(graph), id, kind));
}

ir::Node* only_user(ir::Graph& graph, ValueId id) {
  if (graph.is_output(id)) return nullptr;
  const std::vector<ir::NodeId> users = graph.users(id);
  return users.size() == 1 ? &graph.node(users[0]) : nullptr;
}

bool same_shape(const ir::Shape& a, const ir::Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), ir::proven_equal);
}

std::optional<double> splat_of(const ir::Value& value) {
  if (!value.is_constant() || value.constant->empty()) return std::nullopt;
  const ir::Bytes& data = *value.constant;
  const size_t width = size_of(value.dtype);
  for (size_t at = width; at < data.size(); at += width) {
    if (std::memcmp(data.data(), data.data() + at, width) != 0) return std::nullopt;
  }
  return element_as_double(value, 0);
}

std::vector<double> float_elements(const ir::Value& value) {
  std::vector<double> elements(value.constant->size() / size_of(value.dtype));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = *element_as_double(value, i);
  return elements;
}

std::optional<std::vector<double>> channel_elements(const ir::Value& value, size_t axis_from_end, int64_t count) {
  if (!value.is_constant() || value.dtype != DType::kF32) return std::nullopt;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const bool channel_axis = value.dims.size() - 1 - i == axis_from_end;
    const ir::Dim dim = value.dims[i];
    if (!(dim == ir::Dim(1)) && !(channel_axis && dim == ir::Dim(count))) return std::nullopt;
  }
  return float_elements(value);
}

std::vector<int64_t> constant_dims(const ir::Value& value) {
  std::vector<int64_t> dims;
  for (ir::Dim dim : value.dims) dims.push_back(dim.constant());
  return dims;
}

ValueId add_float_constant(ir::Graph& graph, const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<double>& elements) {
  ir::Bytes data(elements.size() * sizeof(float));
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto element = static_cast<float>(elements[i]);
    std::memcpy(data.data() + i * sizeof(float), &element, sizeof(float));
  }
  return graph.add_constant(name, DType::kF32, dims, std::move(data)).id;
}

std::optional<OneOp> one_op_of(ir::Graph& graph, ValueId id) {
  ir::Node* node = producer_of(graph, id, OpKind::kPointwise);
  if (node == nullptr || node->outputs.size() != 1) return std::nullopt;
  const SsaProgram program(node->program);
  const PwValue result = program.stored(0);
  const SsaInstr& instr = program.at(result);
  const int reads = reads_of(instr.op);
  if (reads == 0 || instr.type != PwClass::kFloat || instr.op == PwOp::kConvert || instr.op == PwOp::kNarrow) {
    return std::nullopt;
  }
  OneOp op{node, instr.op, {}};
  for (int i = 0; i < reads; ++i) {
    const SsaInstr& read = program.at(instr.read[i]);
    OneOp::Operand operand;
    if (read.op == PwOp::kConst) {
      operand.constant = read.as_double();
    } else if (read.op == PwOp::kLoad) {
      operand.value = node->inputs[read.operand];
      operand.constant = splat_of(graph.value(operand.value));
    } else {
      return std::nullopt;
    }
    op.operands.push_back(operand);
  }
  return op;
}

std::optional<OneOp::Operand> other_operand(const OneOp& op, ValueId known) {
  if (op.operands.size() != 2) return std::nullopt;
  if (op.operands[0].value == known) return op.operands[1];
  if (op.operands[1].value == known && commutes(op.op)) return op.operands[0];
  return std::nullopt;
}

bool is_byte_contraction(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind != OpKind::kConv && node.kind != OpKind::kMatMul) return false;
  const DType type = graph.value(node.inputs[0]).dtype;
  return is_byte(type) && graph.value(node.inputs[1]).dtype == DType::kI8;
}

void scale_behind(ir::Graph& graph, ir::Node& node, ValueId integers, ValueId scale) {
  const ValueId result = node.outputs[0];
  const ir::NodeId id = node.id, next = node_behind(graph, id);
  const ir::SsaProgram rest(std::exchange(node.program, {}));
  std::vector<ValueId> operands{integers, scale};
  operands.insert(operands.end(), node.inputs.begin() + node.core_inputs, node.inputs.end());
  node.inputs.resize(static_cast<size_t>(node.core_inputs));
  node.outputs[0] = integers;
  graph.value(integers).producer = id;
  ir::Node& scaled = graph.add_node(OpKind::kPointwise, NoParams{}, {}, {result}, next);
  scaled.name = graph.node(id).name;
  scaled.onnx = graph.node(id).onnx;
  ir::SsaProgram program;
  ir::PwValue value = program.convert(program.load(0, PwClass::kInt), PwClass::kFloat);
  value = program.binary(PwOp::kMul, value, program.load(1));
  if (!rest.instrs().empty()) {
    std::vector<ir::PwValue> loads;
    for (size_t i = 2; i < operands.size(); ++i) loads.push_back(program.load(static_cast<int>(i)));
    value = inline_program(program, rest, loads, value)[0];
  }
  program.store(value);
  set_program(scaled, program, operands);
}

ir::NodeId node_behind(const ir::Graph& graph, ir::NodeId id) {
  const auto next = std::find(graph.order().begin(), graph.order().end(), id) + 1;
  return next == graph.order().end() ? ir::kNone : *next;
}

void take_names(ir::Node& to, const ir::Node& from) {
  for (const std::string& name : from.onnx) {
    if (std::find(to.onnx.begin(), to.onnx.end(), name) == to.onnx.end()) to.onnx.push_back(name);
  }
}

void replace_node(ir::Graph& graph, ir::Node& node, ValueId replacement) {
  graph.replace_uses(node.outputs[0], replacement);
  graph.erase_node(node.id);
}

bool set_program(ir::Node& node, const SsaProgram& program, const std::vector<ValueId>& operands) {
  std::vector<ValueId> kept;
  SsaProgram renumbered;
  std::vector<PwValue> moved;
  const std::vector<int> uses = program.use_counts();
  for (size_t i = 0; i < program.instrs().size(); ++i) {
    SsaInstr instr = program.instrs()[i];
    if (instr.op != PwOp::kStore && uses[i] == 0) {
      moved.push_back(-1);
      continue;
    }
    if (instr.op == PwOp::kLoad) {
      const ValueId operand = operands[instr.operand];
      auto at = std::find(kept.begin(), kept.end(), operand);
      if (at == kept.end()) at = kept.insert(at, operand);
      instr.operand = static_cast<uint8_t>(at - kept.begin());
    }
    for (int r = 0; r < reads_of(instr.op); ++r) instr.read[r] = moved[static_cast<size_t>(instr.read[r])];
    moved.push_back(renumbered.add(instr));
  }
  if (kept.size() > static_cast<size_t>(kMaxPwOperands)) return false;
  std::optional<std::vector<PwInstr>> emitted = renumbered.to_program();
  if (!emitted) return false;
  node.program = std::move(*emitted);
  node.inputs.resize(static_cast<size_t>(node.core_inputs));
  node.inputs.insert(node.inputs.end(), kept.begin(), kept.end());
  return true;
}

std::vector<PwValue> inline_program(SsaProgram& to, const SsaProgram& from, const std::vector<PwValue>& loads,
                                    PwValue accumulator) {
  std::vector<PwValue> moved, stored;
  for (SsaInstr instr : from.instrs()) {
    if (instr.op == PwOp::kLoad || instr.op == PwOp::kAcc) {
      moved.push_back(instr.op == PwOp::kAcc ? accumulator : loads[instr.operand]);
      continue;
    }
    for (int r = 0; r < reads_of(instr.op); ++r) instr.read[r] = moved[static_cast<size_t>(instr.read[r])];
    if (instr.op != PwOp::kStore) {
      moved.push_back(to.add(instr));
      continue;
    }
    if (stored.size() <= instr.operand) stored.resize(instr.operand + size_t{1}, -1);
    stored[instr.operand] = instr.read[0];
    moved.push_back(-1);
  }
  return stored;
}

}  // namespace planwright::builder
