#include "builder/passes/quantisable_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

bool is_depthwise(const ir::Node& node) { return node.kind == OpKind::kConv && node.as<ConvParams>().group != 1; }

// The axis of its input that a layer's weights tell the channels of; -1: there is none.
int channel_axis(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind == OpKind::kMatMul) return graph.value(node.inputs[0]).rank() - 1;
  const ir::Shape& dims = graph.value(node.inputs[1]).dims;
  return is_depthwise(node) && dims[1] != ir::Dim(1) ? -1 : 1;
}

// Levels of several scales are for layers alone: what else reads the tensor would have to have them too, or the tensor
// to be stored twice. A normalisation stores floats anyway.
bool may_have_factors(const ir::Graph& graph, const QuantisableNode& node, const std::vector<ir::NodeId>& users,
                      const std::vector<QuantisableNode>& all) {
  if (!node.moves.empty() || graph.is_output(node.source)) return false;
  const ir::Node* producer = producer_of(graph, node.source);
  if (producer == nullptr || producer->kind == OpKind::kConcat) return false;
  if (!takes_epilogue(producer->kind) && producer->kind != OpKind::kPointwise) return true;
  return std::all_of(users.begin(), users.end(), [&](ir::NodeId user) {
    return std::any_of(all.begin(), all.end(), [&](const QuantisableNode& one) { return one.node == user; });
  });
}

void find_channels(const ir::Graph& graph, const ir::Users& users, std::vector<QuantisableNode>& all) {
  for (QuantisableNode& one : all) {
    const std::vector<ir::NodeId>& readers = users.of(one.source);
    const int axis = channel_axis(graph, graph.node(one.node));
    if (axis < 0 || !may_have_factors(graph, one, readers, all)) continue;
    const bool is_same = std::all_of(all.begin(), all.end(), [&](const QuantisableNode& other) {
      return other.source != one.source || (other.moves.empty() && channel_axis(graph, graph.node(other.node)) == axis);
    });
    const ir::Dim channels = graph.value(one.source).dims[static_cast<size_t>(axis)];
    if (!is_same || !channels.is_constant()) continue;
    one.layer.channel_axis = axis;
    one.layer.channels = channels.constant();
  }
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
    one.layer.name = node.onnx.empty() ? node.name : node.onnx.front();
    one.layer.activation = graph.value(one.source).name;
    one.layer.key = hash.of(one.source);
  }
  find_channels(graph, users, found);
  return found;
}

void measure_channel_weights(const ir::Graph& graph, std::vector<QuantisableNode>& nodes) {
  std::map<ValueId, std::vector<float>> largest;
  for (const QuantisableNode& one : nodes) {
    if (one.layer.channel_axis < 0) continue;
    const ir::Node& node = graph.node(one.node);
    std::vector<float>& most = largest[one.source];
    most.resize(static_cast<size_t>(one.layer.channels));
    if (is_depthwise(node)) continue;
    const ir::Value& weights = graph.value(node.inputs[1]);
    const auto* elements = reinterpret_cast<const float*>(weights.constant->data());
    const size_t count = weights.constant->size() / sizeof(float);
    // Filters have `taps` weights of a channel, one filter behind the other; a row of a product's weights is a channel.
    const bool is_conv = node.kind == OpKind::kConv;
    const size_t together = count / most.size() / static_cast<size_t>(is_conv ? weights.dims[0].constant() : 1);
    for (size_t i = 0; i < count; i += together) {
      float& of_channel = most[i / together % most.size()];
      for (size_t k = i; k < i + together; ++k) of_channel = std::max(of_channel, std::abs(elements[k]));
    }
  }
  for (QuantisableNode& one : nodes) {
    if (one.layer.channel_axis >= 0) one.layer.channel_weights = largest[one.source];
  }
}

}  // namespace planwright::builder
