// A matrix product with one-hot rows is a look-up: MatMul(equal(index, 0..n-1), table) becomes a Gather of the table,
// with a row of zeros at its end for an index that is none. And what a program does to looked-up rows, it does to the
// table.
#include <algorithm>
#include <cmath>
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

// Whether an integer constant is 0, 1, ..., count - 1.
bool is_iota(const ir::Value& value, int64_t count) {
  if (!value.is_constant() || (value.dtype != DType::kI32 && value.dtype != DType::kI64)) return false;
  const size_t width = size_of(value.dtype);
  if (value.constant->size() != static_cast<size_t>(count) * width) return false;
  for (int64_t i = 0; i < count; ++i) {
    int64_t element = 0;  // little-endian: the low half holds a non-negative int32
    std::memcpy(&element, value.constant->data() + static_cast<size_t>(i) * width, width);
    if (element != i) return false;
  }
  return true;
}

// The index operand of a Pointwise node that computes one-hot rows of length `count` from it: [..., 1] against
// 0..count-1 along the last axis.
std::optional<ValueId> one_hot_index(const ir::Graph& graph, const ir::Node& node, int64_t count) {
  if (node.kind != OpKind::kPointwise || node.inputs.size() != 2 || node.outputs.size() != 1) return std::nullopt;
  const SsaProgram program(node.program);
  const SsaInstr* instr = &program.at(program.stored(0));
  while (instr->op == PwOp::kConvert || (instr->op == PwOp::kNarrow && instr->type != PwClass::kFloat)) {
    instr = &program.at(instr->read[0]);
  }
  if (instr->op != PwOp::kEqual || instr->type != PwClass::kInt) return std::nullopt;
  for (int side : {0, 1}) {
    const SsaInstr &index = program.at(instr->read[side]), &iota = program.at(instr->read[1 - side]);
    if (index.op != PwOp::kLoad || iota.op != PwOp::kLoad) continue;
    const ir::Value& rows = graph.value(node.inputs[index.operand]);
    const ir::Value& numbers = graph.value(node.inputs[iota.operand]);
    const bool along_last = !numbers.dims.empty() && numbers.dims.back() == Dim(count) && is_iota(numbers, count);
    if (along_last && !rows.dims.empty() && rows.dims.back() == Dim(1)) return rows.id;
  }
  return std::nullopt;
}

bool all_finite(const ir::Value& table) {
  for (double element : float_elements(table)) {
    if (!std::isfinite(element)) return false;
  }
  return true;
}

// The table with a row of zeros behind it.
ValueId with_zero_row(ir::Graph& graph, const ir::Value& table) {
  std::vector<int64_t> dims = constant_dims(table);
  ir::Bytes data = *table.constant;
  data.resize(data.size() + static_cast<size_t>(dims[1]) * size_of(table.dtype));
  ++dims[0];
  return graph.add_constant(table.name, table.dtype, dims, std::move(data)).id;
}

// index, or `count` where it is not in [0, count), as int64 and without the last axis.
ValueId checked_index(ir::Graph& graph, const ir::Node& at, ValueId index, int64_t count) {
  const ir::Value& value = graph.value(index);
  const ir::Shape dims(value.dims.begin(), value.dims.end() - 1);
  const ValueId flat = graph.add_value(value.name + "/flat", value.dtype, dims).id;
  graph.add_node(OpKind::kReshape, NoParams{}, {index}, {flat}, at.id).name = at.name;
  const ValueId checked = graph.add_value(value.name + "/checked", DType::kI64, dims).id;
  ir::Node& check = graph.add_node(OpKind::kPointwise, NoParams{}, {flat}, {checked}, at.id);
  check.name = at.name;
  SsaProgram program;
  const PwValue i = program.load(0, PwClass::kInt);
  const PwValue last = program.constant_int(count);
  const PwValue inside = program.binary(PwOp::kAnd, program.binary(PwOp::kLessEqual, program.constant_int(0), i),
                                        program.binary(PwOp::kLess, i, last));
  program.store(program.ternary(PwOp::kSelect, inside, i, last));
  check.program = *program.to_program();
  return checked;
}

// The epilogue of a contraction as a program of a node of its own, whose first operand is the result.
void split_epilogue(ir::Graph& graph, ir::Node& node) {
  const ir::Value& out = graph.value(node.outputs[0]);
  const ValueId result = graph.add_value(out.name + "/product", DType::kF32, out.dims).id;
  std::vector<ValueId> operands{result};
  SsaProgram program;
  std::vector<PwValue> loads;
  for (size_t i = static_cast<size_t>(node.core_inputs); i < node.inputs.size(); ++i) {
    operands.push_back(node.inputs[i]);
    loads.push_back(program.load(static_cast<int>(i) - node.core_inputs + 1));
  }
  program.store(inline_program(program, SsaProgram(node.program), loads, program.load(0))[0]);
  ir::Node& pointwise =
      graph.add_node(OpKind::kPointwise, NoParams{}, {}, {node.outputs[0]}, node_behind(graph, node.id));
  set_program(pointwise, program, operands);
  pointwise.name = node.name;
  pointwise.onnx = node.onnx;
  node.outputs[0] = result;
  graph.value(result).producer = node.id;
  node.program.clear();
  node.inputs.resize(2);
}

bool product_to_gather(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kMatMul) return false;
  const ir::Value& table = graph.value(node.inputs[1]);
  const ir::Node* rows = producer_of(graph, node.inputs[0]);
  if (rows == nullptr || !table.is_constant() || table.dtype != DType::kF32 || table.rank() != 2) return false;
  const int64_t count = table.dims[0].constant();
  const std::optional<ValueId> index = one_hot_index(graph, *rows, count);
  if (!index || graph.value(*index).rank() != graph.value(node.inputs[0]).rank() || !all_finite(table)) return false;
  ir::Shape gathered(graph.value(*index).dims.begin(), graph.value(*index).dims.end() - 1);
  gathered.push_back(table.dims[1]);
  if (!same_shape(gathered, graph.value(node.outputs[0]).dims)) return false;

  if (!node.program.empty()) split_epilogue(graph, node);
  node.inputs = {with_zero_row(graph, table), checked_index(graph, node, *index, count)};
  node.kind = OpKind::kGather;
  node.params = GatherParams{0};
  take_names(node, *rows);
  return true;
}

// Whether an operand of a program over rows of `width` is the same for every row.
bool same_for_rows(const ir::Value& value, Dim width) {
  if (!value.is_constant()) return false;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const bool last = i + 1 == value.dims.size();
    if (!(value.dims[i] == Dim(1)) && !(last && value.dims[i] == width)) return false;
  }
  return true;
}

// Such an operand with no more axes than a row.
ValueId as_row(ir::Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  if (value.rank() <= 1) return id;
  const ValueId row = graph.add_value(value.name, value.dtype, {value.dims.back()}).id;
  graph.value(row).constant = value.constant;
  return row;
}

// Pointwise(Gather(table, index), constants) is Gather(Pointwise(table, constants), index), and the inner node is
// folded.
bool program_to_table(ir::Graph& graph, ir::Node& node) {
  if (node.kind != OpKind::kPointwise || node.outputs.size() != 1) return false;
  for (ValueId id : node.inputs) {
    ir::Node* gather = producer_of(graph, id, OpKind::kGather);
    if (gather == nullptr || gather->as<GatherParams>().axis != 0 || only_user(graph, id) == nullptr) continue;
    const ir::Value& table = graph.value(gather->inputs[0]);
    if (!table.is_constant() || table.rank() != 2 || graph.value(id).rank() < 2 ||
        !same_shape(graph.value(id).dims, graph.value(node.outputs[0]).dims) ||
        !ir::proven_at_most(ir::product(table.dims), ir::range_of(ir::product(graph.value(id).dims)).max)) {
      continue;
    }
    const bool rest_constant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
      return operand == id || same_for_rows(graph.value(operand), table.dims[1]);
    });
    if (!rest_constant) continue;
    const ir::Value& out = graph.value(node.outputs[0]);
    const ValueId computed = graph.add_value(table.name, out.dtype, table.dims).id;
    ir::Node& inner = graph.add_node(OpKind::kPointwise, NoParams{}, node.inputs, {computed}, node.id);
    for (ValueId& operand : inner.inputs) operand = operand == id ? table.id : as_row(graph, operand);
    inner.program = node.program;
    inner.name = node.name;
    inner.onnx = node.onnx;
    take_names(node, *gather);
    node.kind = OpKind::kGather;
    node.params = GatherParams{0};
    node.program.clear();
    node.inputs = {computed, gather->inputs[1]};
    node.core_inputs = 2;
    return true;
  }
  return false;
}

}  // namespace

bool match_one_hot(ir::Graph& graph) {
  bool changed = false;
  for (const auto rule : {product_to_gather, program_to_table}) {
    const std::vector<ir::NodeId> order = graph.order();
    for (ir::NodeId id : order) changed |= rule(graph, graph.node(id));
  }
  return changed;
}

}  // namespace planwright::builder
