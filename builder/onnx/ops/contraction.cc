// MatMul, Gemm and what else is a product of matrices.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/contractions.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {

ValueId matmul_of(NodeContext& node, ValueId a, ValueId b) {
  node.require(node.rank(a) >= 1 && node.rank(b) >= 1, "its inputs must have an axis or more");
  node.require(node.dtype(a) == node.dtype(b), "its inputs have different types");
  const bool row = node.rank(a) == 1, column = node.rank(b) == 1;
  if (row) a = node.unsqueeze(a, 0);
  if (column) b = node.unsqueeze(b, 1);
  const ValueId product = node.matmul(a, b);
  const int rank = node.rank(product);
  const uint32_t dropped = (row ? 1u << (rank - 2) : 0u) | (column ? 1u << (rank - 1) : 0u);
  return node.squeeze(product, dropped);
}

ValueId gemm_of(NodeContext& node) {
  node.require(node.in_rank(0) == 2 && node.in_rank(1) == 2, "its first two inputs must be matrices");
  const auto matrix = [&](int input, const char* transposes) {
    const ValueId x = node.widened(node.in(input));
    return node.get_int(transposes) != 0 ? node.swap_last_axes(x) : x;
  };
  const ValueId a = matrix(0, "transA"), product = node.matmul(a, matrix(1, "transB"));
  const DType dtype = node.dtype(a);
  const double alpha = static_cast<double>(node.get_float("alpha", 1)),
               beta = static_cast<double>(node.get_float("beta", 1));
  const bool adds = node.has(2) && beta != 0;
  if (alpha == 1 && !adds) return product;
  ProgramBuilder program;
  std::vector<ValueId> operands{product};
  Reg y = program.load(dtype);
  if (alpha != 1) y = program.apply(PwOp::kMul, y, program.constant(y.type, alpha));
  if (adds) {
    node.require(node.in_type(2) == node.in_type(0), "its third input has another type");
    node.require(node.in_rank(2) <= 2, "its third input has more than two axes");
    operands.push_back(node.in(2));
    Reg c = program.load(node.in_type(2));
    if (beta != 1) c = program.apply(PwOp::kMul, c, program.constant(c.type, beta));
    y = program.apply(PwOp::kAdd, y, c);
  }
  program.store(y, dtype);
  return node.pointwise(program, std::move(operands), dtype);
}

namespace {

void matmul(NodeContext& node) { node.set(0, matmul_of(node, node.in(0), node.in(1))); }
void gemm(NodeContext& node) { node.set(0, node.cast(gemm_of(node), node.in_type(0))); }

void det(NodeContext& node) {
  node.require(node.in_rank(0) >= 2, "its input must be of matrices");
  if (ir::range_of(node.in_dims(0).back()).max > kMaxDetSize) {
    node.unsupported(fmt::format("matrices that may have more than {} rows", kMaxDetSize));
  }
  node.set(0, node.emit_one({OpKind::kDet, NoParams{}, {node.in(0)}}));
}

constexpr ImporterRow kRows[] = {
    {"Det", det},
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

ImporterTable contraction_importers() { return kRows; }

}  // namespace planwright::builder::importer
