// Models that say how their tensors are quantised: a product in fp32 of dequantised bytes by dequantised constants is
// one of the bytes, times the scales. Small constants are dequantised by the time the model is imported. What quantises
// the result again is fused behind it (fuse_epilogues).
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "builder/passes/byte_product.h"
#include "builder/passes/dequantised.h"
#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"
#include "builder/passes/scaled_runs.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::kNone;
using ir::Tensor;
using ir::ValueId;

// Constant weights as levels, int8, times scales, fp32, each of the weights' dims.
struct Weights {
  Tensor levels, scales;
};

// The index into an operand of `dims` (numpy's rule) of element `index` of a tensor of `to`.
size_t broadcast_index(const std::vector<int64_t>& dims, const std::vector<int64_t>& to, size_t index) {
  size_t at = 0, step = 1;
  for (size_t i = 1; i <= to.size(); ++i) {
    const auto length = static_cast<size_t>(to[to.size() - i]), position = index % length;
    index /= length;
    if (i > dims.size()) continue;
    const auto own = static_cast<size_t>(dims[dims.size() - i]);
    if (own != 1) at += position * step;
    step *= own;
  }
  return at;
}

std::optional<Weights> dequantised_weights(const ir::Graph& graph, ValueId id) {
  if (const ir::Node* node = moving_node(graph, id)) {
    const std::optional<Weights> from = dequantised_weights(graph, node->inputs[0]);
    if (!from) return std::nullopt;
    return Weights{*moved_elements(graph, *node, from->levels), *moved_elements(graph, *node, from->scales)};
  }
  const std::optional<Dequantised> found = dequantised(graph, id);
  if (!found) return std::nullopt;
  const std::optional<Tensor> bytes = constant_tensor(graph, found->bytes),
                              scale = constant_tensor(graph, found->scale);
  const std::optional<Tensor> zero = found->zero == kNone ? std::nullopt : constant_tensor(graph, found->zero);
  if (!bytes || !scale || (found->zero != kNone && !zero)) return std::nullopt;
  const size_t count = bytes->data.size();
  Weights weights{{DType::kI8, bytes->dims, ir::Bytes(count)}, {DType::kF32, bytes->dims, ir::Bytes(4 * count)}};
  for (size_t i = 0; i < count; ++i) {
    const double offset = zero ? element_of(*zero, broadcast_index(zero->dims, bytes->dims, i)) : 0;
    const double level = element_of(*bytes, i) - offset;
    if (level < -128 || level > 127) return std::nullopt;
    weights.levels.data[i] = static_cast<std::byte>(static_cast<int8_t>(level));
    const auto of = static_cast<float>(element_of(*scale, broadcast_index(scale->dims, bytes->dims, i)));
    std::memcpy(weights.scales.data.data() + i * sizeof of, &of, sizeof of);
  }
  return weights;
}

// nullopt where a column has several scales.
std::optional<std::vector<double>> column_scales(const Weights& weights, bool is_conv) {
  const std::vector<int64_t>& dims = weights.scales.dims;
  const auto columns = static_cast<size_t>(is_conv ? dims[0] : dims.back());
  const size_t count = weights.levels.data.size();
  std::vector<double> scales(columns);
  for (size_t i = 0; i < count; ++i) {
    const size_t column = is_conv ? i / (count / columns) : i % columns;
    const double scale = element_of(weights.scales, i);
    if (!std::isfinite(scale) || scale <= 0) return std::nullopt;
    if (scales[column] != 0 && scales[column] != scale) return std::nullopt;
    scales[column] = scale;
  }
  return scales;
}

// Of constants that were dequantised before: a column's are integers times a scale.
std::optional<LevelWeights> weights_of_constant(const ir::Value& weights, bool is_conv) {
  const std::vector<int64_t> dims = constant_dims(weights);
  const auto count = static_cast<int64_t>(weights.constant->size() / sizeof(float));
  const int64_t columns = is_conv ? dims[0] : dims.back();
  if (weights.dtype != DType::kF32 || count == 0) return std::nullopt;
  const auto* elements = reinterpret_cast<const float*>(weights.constant->data());
  LevelWeights found{{DType::kI8, dims, ir::Bytes(static_cast<size_t>(count))}, {}};
  auto* levels = reinterpret_cast<int8_t*>(found.levels.data.data());
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t length = count / columns;
    const ScaledRun run = is_conv ? row_run(length, i) : ScaledRun{i, length, columns};
    found.scales.push_back(static_cast<double>(scale_of(elements, run, DType::kI8, levels)));
    if (found.scales.back() == 0) return std::nullopt;
  }
  return found;
}

std::optional<LevelWeights> weights_of(const ir::Graph& graph, const ir::Node& node) {
  const bool is_conv = node.kind == OpKind::kConv;
  const ir::Value& weights = graph.value(node.inputs[1]);
  if (!is_conv && weights.rank() != 2) return std::nullopt;
  if (weights.is_constant()) return weights_of_constant(weights, is_conv);
  std::optional<Weights> found = dequantised_weights(graph, node.inputs[1]);
  if (!found || found->levels.data.empty()) return std::nullopt;
  std::optional<std::vector<double>> scales = column_scales(*found, is_conv);
  if (!scales) return std::nullopt;
  return LevelWeights{std::move(found->levels), std::move(*scales)};
}

bool multiply_bytes_of(ir::Graph& graph, ir::Node& node) {
  if (!node.program.empty() || node.core_inputs != 2) return false;
  const std::optional<Dequantised> x = dequantised(graph, node.inputs[0]);
  if (!x) return false;
  const std::optional<Tensor> x_scale = constant_tensor(graph, x->scale);
  if (!x_scale || x_scale->data.size() != sizeof(float)) return false;
  if (x->zero != kNone && !(ir::product(graph.value(x->zero).dims) == Dim(1))) return false;
  std::optional<LevelWeights> weights = weights_of(graph, node);
  if (!weights || !has_byte_kernels(graph, node, graph.value(x->bytes).dtype)) return false;
  multiply_levels(graph, node, {x->bytes, x->zero, element_of(*x_scale, 0)}, std::move(*weights));
  return true;
}

}  // namespace

bool multiply_quantized(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kMatMul || node.kind == OpKind::kConv) changed |= multiply_bytes_of(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
