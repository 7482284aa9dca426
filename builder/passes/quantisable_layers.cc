#include "builder/passes/quantisable_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "builder/passes/byte_product.h"
#include "builder/passes/dequantised.h"
#include "builder/structure_hash.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::ValueId;

bool is_quantisable(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind != OpKind::kConv && node.kind != OpKind::kMatMul) return false;
  const auto is_f32 = [&](ValueId id) { return graph.value(id).dtype == DType::kF32; };
  if (node.core_inputs != 2 || !std::all_of(node.inputs.begin(), node.inputs.end(), is_f32)) return false;
  const ir::Value &x = graph.value(node.inputs[0]), &weights = graph.value(node.inputs[1]);
  if (x.is_constant() || !weights.is_constant()) return false;
  return !weights.constant->empty() && has_byte_kernels(graph, node, DType::kU8);
}

}  // namespace

std::string activation_output(const ir::QuantisableLayer& layer) {
  return fmt::format("activation {:016x}", layer.key);
}

std::vector<QuantisableNode> quantisable_nodes(const ir::Graph& graph) {
  const ir::Users users(graph);
  StructureHash hash(graph);
  const auto is_moved_only = [&](ValueId id) { return users.of(id).size() == 1 && !graph.is_output(id); };
  std::vector<QuantisableNode> found;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!is_quantisable(graph, node)) continue;
    QuantisableNode& one = found.emplace_back();
    one.node = id;
    one.source = node.inputs[0];
    while (!graph.is_output(one.source)) {
      const ir::Node* mover = producer_of(graph, one.source);
      if (mover == nullptr || !keeps_levels(*mover) || !is_moved_only(mover->inputs[0])) break;
      one.moves.push_back(mover->id);
      one.source = mover->inputs[0];
    }
    std::reverse(one.moves.begin(), one.moves.end());
    one.layer = {node.onnx.empty() ? node.name : node.onnx.front(), graph.value(one.source).name, hash.of(one.source)};
  }
  return found;
}

}  // namespace planwright::builder
