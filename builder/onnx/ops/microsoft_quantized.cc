// Quantised operators of the domain com.microsoft, which ONNX Runtime's quantiser writes.
#include <fmt/format.h>

#include "builder/onnx/ops/activations.h"
#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/ops/microsoft_attention.h"
#include "builder/onnx/ops/quantized.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// ---- One number after the other

// A quantised operand is three inputs of the node: the numbers, their scale, their zero point (may be absent).
struct Operand {
  std::vector<ValueId>& operands;
  P& program;
  NodeContext& node;

  ValueId scalar(int input) const {
    const ir::Value& value = node.input(input);
    node.require(ir::product(value.dims) == Dim(1), fmt::format("its input {} must be one number", input));
    return node.reshape(value.id, {});
  }
  Reg load(ValueId id, PwClass type) const {
    operands.push_back(id);
    return program.load_as(node.dtype(id), type);
  }
  // (x - zero) * scale, in float
  Reg real(int input) const {
    check_scale(node, input + 1);
    Reg x = load(node.in(input), PwClass::kFloat);
    if (node.has(input + 2)) x = program.apply(PwOp::kSub, x, load(scalar(input + 2), PwClass::kFloat));
    return program.apply(PwOp::kMul, x, load(scalar(input + 1), PwClass::kFloat));
  }
  // Stores y quantised by the scale `scale` and the zero point behind it.
  void store(Reg y, int scale, DType dtype) const {
    check_scale(node, scale);
    const Reg level = program.apply(PwOp::kDiv, y, load(scalar(scale), PwClass::kFloat));
    std::optional<Reg> zero;
    if (node.has(scale + 1)) {
      node.require(node.in_type(scale + 1) == dtype, "its zero points differ in type");
      zero = load(scalar(scale + 1), PwClass::kFloat);
    }
    store_quantized(node, program, level, zero, dtype);
  }
};

template <PwOp op>
void qlinear_binary(NodeContext& node) {
  P program;
  std::vector<ValueId> operands;
  const Operand operand{operands, program, node};
  const DType dtype = node.in_type(0);
  const Reg a = operand.real(0);
  operand.store(program.apply(op, a, operand.real(3)), 6, dtype);
  node.set(0, node.pointwise(program, std::move(operands), dtype));
}

template <typename Body>
void qlinear_unary(NodeContext& node, const Body& body) {
  P program;
  std::vector<ValueId> operands;
  const Operand operand{operands, program, node};
  operand.store(body(program, operand.real(0)), 3, node.in_type(0));
  node.set(0, node.pointwise(program, std::move(operands), node.in_type(0)));
}

void qlinear_sigmoid(NodeContext& node) {
  qlinear_unary(node, [](P& p, Reg x) { return p.apply(PwOp::kSigmoid, x); });
}
void qlinear_leaky_relu(NodeContext& node) {
  const auto alpha = static_cast<double>(node.get_float("alpha", 0.01f));
  qlinear_unary(node, [&](P& p, Reg x) { return leaky_relu_of(p, x, alpha); });
}

ValueId dequantized(NodeContext& node, int input) {
  P program;
  std::vector<ValueId> operands;
  program.store(Operand{operands, program, node}.real(input), DType::kF32);
  return node.pointwise(program, std::move(operands), DType::kF32);
}

ValueId quantized(NodeContext& node, ValueId y, int scale, DType dtype) {
  P program;
  std::vector<ValueId> operands{y};
  const Reg real = program.load(DType::kF32);
  Operand{operands, program, node}.store(real, scale, dtype);
  return node.pointwise(program, std::move(operands), dtype);
}

// Output scale and zero point, then the parts with theirs.
void qlinear_concat(NodeContext& node) {
  node.require(node.input_count() >= 5 && node.input_count() % 3 == 2, "its inputs do not come in threes");
  const int axis = node.normalize_axis(node.get_int("axis"), node.in_rank(2));
  const DType dtype = node.in_type(2);
  std::vector<ValueId> parts;
  for (int i = 2; i < node.input_count(); i += 3) {
    node.require(node.in_type(i) == dtype, "its parts differ in type");
    parts.push_back(quantized(node, dequantized(node, i), 0, dtype));
  }
  node.set(0, node.concat(std::move(parts), axis));
}

void qlinear_where(NodeContext& node) {
  P program;
  std::vector<ValueId> operands;
  const Operand operand{operands, program, node};
  const Reg condition = operand.load(node.in(0), PwClass::kFloat);
  const Reg x = operand.real(1);
  operand.store(program.apply(PwOp::kSelect, condition, x, operand.real(4)), 7, node.in_type(1));
  node.set(0, node.pointwise(program, std::move(operands), node.in_type(1)));
}

// ---- Pools, in float

std::vector<int> channels_last_perm(int rank) {
  std::vector<int> perm{0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}
std::vector<int> channels_first_perm(int rank) {
  std::vector<int> perm{0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  return perm;
}

template <typename Pool>
void qlinear_pool(NodeContext& node, const Pool& pool) {
  const int rank = node.in_rank(0);
  node.require(rank >= 3, "its input has no spatial axes");
  const bool last = node.get_int("channels_last") != 0;
  ValueId x = dequantized(node, 0);
  if (last) x = node.transpose(x, channels_first_perm(rank));
  ValueId y = pool(x);
  if (last) y = node.transpose(y, channels_last_perm(rank));
  node.set(0, quantized(node, y, 3, node.in_type(0)));
}

void qlinear_average_pool(NodeContext& node) {
  qlinear_pool(node, [&](ValueId x) { return pool_of(node, x, PoolKind::kAverage)[0]; });
}

void qlinear_global_average_pool(NodeContext& node) {
  const uint32_t axes = (1u << node.in_rank(0)) - 4u;
  qlinear_pool(node, [&](ValueId x) { return node.reduce(ReduceKind::kMean, x, axes); });
}

// Before opset 13 the axes from `axis` on are taken as one, which is the same for the last.
void qlinear_softmax(NodeContext& node) {
  const int rank = node.in_rank(0);
  const int axis = node.normalize_axis(node.get_int("axis", -1), rank);
  if (node.get_int("opset", 13) < 13 && axis != rank - 1) node.unsupported("the softmax of several axes as one");
  const ValueId y = node.emit_one({OpKind::kSoftmax, SoftmaxParams{axis, 0}, {dequantized(node, 0)}});
  node.set(0, quantized(node, y, 3, node.in_type(0)));
}

// ---- Products

// sum * scale_a * scale_b, plus input `bias` (-1: none); scales broadcast as rows and columns do.
ValueId scaled_sum(NodeContext& node, ValueId sum, ValueId a_scale, ValueId b_scale, int bias) {
  const DType dtype = node.dtype(a_scale);
  node.require(node.dtype(sum) == DType::kI32, "its matrices must be of integers");
  node.require(is_float(dtype) && is_float(node.dtype(b_scale)), "its scales must be of floats");
  P program;
  std::vector<ValueId> operands{sum, a_scale, b_scale};
  const Reg total = program.load_as(DType::kI32, class_of(dtype));
  const Reg scale =
      program.apply(PwOp::kMul, program.load(dtype), program.load_as(node.dtype(b_scale), class_of(dtype)));
  Reg y = program.apply(PwOp::kMul, total, scale);
  if (bias >= 0 && node.has(bias)) {
    node.require(node.in_rank(bias) == 1 && node.in_type(bias) == dtype,
                 "its bias must have one axis and the scales' type");
    operands.push_back(node.in(bias));
    y = program.apply(PwOp::kAdd, y, program.load(dtype));
  }
  program.store(y, dtype);
  return node.pointwise(program, std::move(operands), dtype);
}

// A, B, scale A, scale B, zero A, zero B, bias
void matmul_integer_to_float(NodeContext& node) {
  for (const int scale : {2, 3}) check_scale(node, scale);
  const ValueId sum =
      matmul_of(node, centred(node, node.in(0), by_row(node, 4)), centred(node, node.in(1), by_column(node, 5)));
  node.set(0, scaled_sum(node, sum, *by_row(node, 2), *by_column(node, 3), 6));
}

// A, B, scale B, zero B, bias
void dynamic_quantize_matmul(NodeContext& node) {
  check_scale(node, 2);
  const DynamicQuantized a = quantize_dynamically(node, node.in(0));
  const ValueId sum = matmul_of(node, centred(node, a.x, a.zero), centred(node, node.in(1), by_column(node, 3)));
  node.set(0, scaled_sum(node, sum, a.scale, *by_column(node, 2), 4));
}

// alpha * scale_a * scale_b * (A' B' + C), as float or quantised.
void q_gemm(NodeContext& node) {
  for (const int scale : {1, 4, 7}) check_scale(node, scale);
  node.require(node.in_rank(0) == 2 && node.in_rank(3) == 2, "its matrices must have two axes");
  const bool transposes_a = node.get_int("transA") != 0, transposes_b = node.get_int("transB") != 0;
  // Before a matrix is transposed, what belongs to its columns belongs to its rows.
  ValueId a = centred(node, node.in(0), node.has(2) ? std::optional(node.reshape(node.in(2), {})) : std::nullopt);
  ValueId b = centred(node, node.in(3), transposes_b ? by_row(node, 5) : by_column(node, 5));
  if (transposes_a) a = node.swap_last_axes(a);
  if (transposes_b) b = node.swap_last_axes(b);
  ValueId sum = matmul_of(node, a, b);
  if (node.has(6)) {
    node.require(node.dtype(sum) == DType::kI32 && node.in_type(6) == DType::kI32 && node.in_rank(6) <= 2,
                 "its third operand must be an int32 matrix");
    sum = node.binary(PwOp::kAdd, sum, node.in(6));
  }
  const auto alpha = static_cast<double>(node.get_float("alpha", 1));
  const ValueId a_scale = map(node, node.reshape(node.in(1), {}), node.in_type(1),
                              [&](P& p, Reg x) { return p.apply(PwOp::kMul, x, p.constant(x.type, alpha)); });
  if (node.has(7)) return node.set(0, requantized(node, sum, a_scale, node.in(4), node.in(7), node.in(8)));
  node.set(0, scaled_sum(node, sum, a_scale, node.in(4), -1));
}

// input, weights, bias, scales of both, mask, zero points of both, past
void q_attention(NodeContext& node) {
  for (const int scale : {3, 4}) check_scale(node, scale);
  node.require(node.in_rank(0) == 3 && node.in_rank(1) == 2, "its input must have three axes and its weights two");
  std::optional<ValueId> zero;
  if (node.has(6)) zero = node.reshape(node.in(6), {});
  const ValueId sum = matmul_of(node, centred(node, node.in(0), zero), centred(node, node.in(1), by_column(node, 7)));
  const ValueId qkv = scaled_sum(node, sum, node.reshape(node.in(3), {}), *by_column(node, 4), 2);
  set_attention(node, {.qkv = qkv, .mask = 5, .past = 8});
}

constexpr const char* kDomain = "com.microsoft";

constexpr ImporterRow kRows[] = {
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul, kDomain},
    {"MatMulIntegerToFloat", matmul_integer_to_float, kDomain},
    {"QAttention", q_attention, kDomain},
    {"QGemm", q_gemm, kDomain},
    {"QLinearAdd", qlinear_binary<PwOp::kAdd>, kDomain},
    {"QLinearAveragePool", qlinear_average_pool, kDomain},
    {"QLinearConcat", qlinear_concat, kDomain},
    {"QLinearGlobalAveragePool", qlinear_global_average_pool, kDomain},
    {"QLinearLeakyRelu", qlinear_leaky_relu, kDomain},
    {"QLinearMul", qlinear_binary<PwOp::kMul>, kDomain},
    {"QLinearSoftmax", qlinear_softmax, kDomain},
    {"QLinearSigmoid", qlinear_sigmoid, kDomain},
    {"QLinearWhere", qlinear_where, kDomain},
};

}  // namespace

ImporterTable microsoft_quantized_importers() { return kRows; }

}  // namespace planwright::builder::importer
