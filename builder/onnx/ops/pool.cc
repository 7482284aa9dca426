// Pooling.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// A float in opset 1.
int32_t lp_exponent(const NodeContext& node) {
  const double p = node.since() < 2 ? static_cast<double>(node.get_float("p", 2)) : node.get_int32("p", 2);
  node.require(p >= 1 && p <= std::numeric_limits<int32_t>::max(), fmt::format("p is {}", p));
  if (p != std::floor(p)) node.unsupported(fmt::format("p is {}, no integer", p));
  return static_cast<int32_t>(p);
}

}  // namespace

std::vector<ValueId> pool_of(NodeContext& node, ValueId x, PoolKind kind) {
  const bool ceil_mode = node.get_int("ceil_mode") != 0;
  const Window window = read_window(node, node.dims(x), node.get_ints("kernel_shape"), ceil_mode);
  PoolParams params;
  params.kind = kind;
  params.spatial = static_cast<int32_t>(window.kernel.size());
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    params.kernel[i] = static_cast<int32_t>(window.kernel[i]);
    params.stride[i] = static_cast<int32_t>(window.stride[i]);
    params.dilation[i] = static_cast<int32_t>(window.dilation[i]);
  }
  params.count_include_pad = kind == PoolKind::kAverage && node.get_int("count_include_pad") != 0 ? 1 : 0;
  params.column_major_indices = kind == PoolKind::kMax && node.get_int("storage_order") != 0 ? 1 : 0;
  if (kind == PoolKind::kLp) params.p = lp_exponent(node);
  Operation operation{OpKind::kPool, params, {x}, window.begin};
  operation.scalars.insert(operation.scalars.end(), window.end.begin(), window.end.end());
  Shape out{node.dims(x)[0], node.dims(x)[1]};
  out.insert(out.end(), window.out.begin(), window.out.end());
  operation.results[0].dims = out;
  if (node.wants(1)) operation.results.push_back({DType::kI64, out});
  return node.emit(std::move(operation));
}

namespace {

void pool(NodeContext& node, PoolKind kind) {
  const std::vector<ValueId> made = pool_of(node, node.in(0), kind);
  for (size_t i = 0; i < made.size(); ++i) node.set(static_cast<int>(i), made[i]);
}

void max_pool(NodeContext& node) { pool(node, PoolKind::kMax); }
void average_pool(NodeContext& node) { pool(node, PoolKind::kAverage); }
void lp_pool(NodeContext& node) { pool(node, PoolKind::kLp); }

uint32_t spatial_axes(const NodeContext& node) {
  node.require(node.in_rank(0) >= 2, fmt::format("its input {} has no channels", ir::to_string(node.in_dims(0))));
  return (1u << node.in_rank(0)) - 4u;
}

template <ReduceKind kind>
void global_pool(NodeContext& node) {
  node.set(0, node.reduce(kind, node.in(0), spatial_axes(node)));
}

// (sum |x|^p)^(1/p)
void global_lp_pool(NodeContext& node) {
  const double p =
      node.since() < 2 ? static_cast<double>(node.get_float("p", 2)) : static_cast<double>(node.get_int("p", 2));
  const uint32_t axes = spatial_axes(node);
  if (p == 1 || p == 2) {
    node.set(0, node.reduce(p == 1 ? ReduceKind::kL1 : ReduceKind::kL2, node.in(0), axes));
    return;
  }
  const DType dtype = node.in_type(0);
  const ValueId powers = map(node, node.in(0), dtype, [&](ProgramBuilder& program, Reg x) {
    return program.apply(PwOp::kPow, program.apply(PwOp::kAbs, x), program.constant(x.type, p));
  });
  const ValueId sum = node.reduce(ReduceKind::kSum, powers, axes);
  node.set(0, map(node, sum, dtype, [&](ProgramBuilder& program, Reg x) {
             return program.apply(PwOp::kPow, x, program.constant(x.type, 1 / p));
           }));
}

constexpr ImporterRow kRows[] = {
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_pool<ReduceKind::kMean>},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_pool<ReduceKind::kMax>},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
};

}  // namespace

ImporterTable pool_importers() { return kRows; }

}  // namespace planwright::builder::importer
