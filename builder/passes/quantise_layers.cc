// Layers in int8 where calibration gave leave: what they multiply is quantised, and where that is all that its producer
// has to store, everything else that reads it takes the levels too.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "builder/ir/precision_policy.h"
#include "builder/passes/byte_product.h"
#include "builder/passes/passes.h"
#include "builder/passes/quantisable_layers.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::Levels;
using ir::NodeId;
using ir::ValueId;

// Of |x| far below 2^22, ties to even; a call of the C library's takes ten times as long, of each weight of each build.
float rounded(float x) {
  constexpr float kWhole = 0x1.8p23f;
  return (x + kWhole) - kWhole;
}

// A filter's or column's largest weight, of either sign, is 127 levels. Of one that is all zeros, or whose largest is
// too small to be divided by, all levels are 0 (FAULTS B19). The weights are finite.
LevelWeights quantise_weights(const float* elements, const std::vector<int64_t>& dims, bool is_conv) {
  const auto count = static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
  const auto columns = static_cast<size_t>(is_conv ? dims[0] : dims.back());
  // A filter's weights lie together, those of columns in turns: rows of weights of one filter, or of one of each
  // column.
  const size_t rows = is_conv ? columns : count / columns, length = count / rows;
  std::vector<float> largest(columns);
  for (size_t row = 0; row < rows; ++row) {
    const float* from = elements + row * length;
    float* most = is_conv ? &largest[row] : largest.data();
    for (size_t i = 0; i < length; ++i) {
      float& of_column = most[is_conv ? 0 : i];
      of_column = std::max(of_column, std::abs(from[i]));
    }
  }
  LevelWeights made{{DType::kI8, dims, ir::Bytes(count)}, {}};
  std::vector<float> inverse;
  for (const float most : largest) {
    const float scale = most / 127;
    const bool is_normal = std::isnormal(scale) && std::isfinite(127 / most);
    made.scales.push_back(is_normal ? static_cast<double>(scale) : 1);
    inverse.push_back(is_normal ? 127 / most : 0);
  }
  auto* levels = reinterpret_cast<int8_t*>(made.levels.data.data());
  for (size_t row = 0; row < rows; ++row) {
    const float* from = elements + row * length;
    int8_t* to = levels + row * length;
    if (is_conv) {
      const float factor = inverse[row];
      for (size_t i = 0; i < length; ++i) to[i] = static_cast<int8_t>(rounded(from[i] * factor));
    } else {
      for (size_t i = 0; i < length; ++i) to[i] = static_cast<int8_t>(rounded(from[i] * inverse[i]));
    }
  }
  return made;
}

bool is_finite(const ir::Value& weights) {
  const auto* elements = reinterpret_cast<const float*>(weights.constant->data());
  return std::all_of(elements, elements + weights.constant->size() / sizeof(float),
                     [](float x) { return std::isfinite(x); });
}

// Times each channel's factor.
std::vector<float> with_factors(const ir::Value& weights, bool is_conv, const std::vector<float>& factors) {
  const auto* elements = reinterpret_cast<const float*>(weights.constant->data());
  std::vector<float> made(elements, elements + weights.constant->size() / sizeof(float));
  if (factors.empty()) return made;
  const std::vector<int64_t> dims = constant_dims(weights);
  // The filters of a depthwise convolution are its channels.
  const size_t filters = is_conv && dims[1] != 1 ? static_cast<size_t>(dims[0]) : 1;
  const size_t together = made.size() / filters / factors.size();
  for (size_t i = 0; i < made.size(); ++i) made[i] *= factors[i / together % factors.size()];
  return made;
}

// Constants of the levels' scale and zero point, to dequantise with.
struct LevelConstants {
  ValueId scale, zero;
};

class Quantiser {
 public:
  explicit Quantiser(ir::Graph& graph) : graph_(graph) {}

  // `nodes` read the same tensor, as whose levels it is quantised.
  void run(const std::vector<const QuantisableNode*>& nodes, const Levels& levels) {
    const ValueId leaf = graph_.node(nodes[0]->node).inputs[0], source = nodes[0]->source;
    const std::string name = graph_.value(source).name;
    const LevelConstants constants = {add_float_constant(graph_, name + "/scale", {}, {levels.scale}),
                                      add_zero(name, levels)};
    std::vector<NodeId> others = graph_.users(leaf);
    std::erase_if(others, [&](NodeId id) {
      return std::any_of(nodes.begin(), nodes.end(), [&](const QuantisableNode* one) { return one->node == id; });
    });
    const bool gives_levels = levels.factors.empty() && gives_levels_to(others, *nodes[0]);
    const NodeId behind_source = behind(source);
    ValueId bytes = graph_.add_value(name + "/levels", DType::kU8, graph_.value(source).dims).id;
    add_quantise(source, bytes, levels, nodes[0]->layer.channel_axis, behind_source);
    for (const NodeId move : nodes[0]->moves) bytes = move_levels(move, bytes);
    if (gives_levels && !others.empty()) {
      const ir::Value& tensor = graph_.value(leaf);
      const ValueId numbers = graph_.add_value(tensor.name + "/dequantised", DType::kF32, tensor.dims).id;
      for (const NodeId reader : others) replace_reads(reader, leaf, numbers);
      add_dequantise(bytes, numbers, constants, node_behind(graph_, graph_.value(bytes).producer));
    }
    for (const QuantisableNode* one : nodes) {
      ir::Node& node = graph_.node(one->node);
      const bool is_conv = node.kind == OpKind::kConv;
      const ir::Value& weights = graph_.value(node.inputs[1]);
      const std::vector<float> scaled = with_factors(weights, is_conv, levels.factors);
      LevelWeights quantised = quantise_weights(scaled.data(), constant_dims(weights), is_conv);
      multiply_levels(graph_, node, {bytes, constants.zero, static_cast<double>(levels.scale)}, std::move(quantised));
    }
  }

 private:
  // Whether what else reads the tensor reads its levels: where its producer then stores nothing else, and readers
  // dequantise while they compute. A normalisation stores floats anyway, and the sum behind it is better for them.
  bool gives_levels_to(const std::vector<NodeId>& others, const QuantisableNode& node) const {
    if (!node.moves.empty()) return true;  // what was moved is not there in floats any more
    if (graph_.is_output(node.source)) return false;
    const NodeId producer = graph_.value(node.source).producer;
    if (producer == kNone) return false;
    const OpKind kind = graph_.node(producer).kind;
    if (kind != OpKind::kPointwise && !takes_epilogue(kind) && kind != OpKind::kConcat) return false;
    return std::all_of(others.begin(), others.end(),
                       [&](NodeId id) { return graph_.node(id).kind == OpKind::kPointwise; });
  }

  NodeId behind(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer == kNone ? graph_.order().front() : node_behind(graph_, producer);
  }

  ValueId add_zero(const std::string& name, const Levels& levels) {
    return graph_.add_constant(name + "/zero", DType::kU8, {}, {static_cast<std::byte>(levels.zero)}).id;
  }

  void add_quantise(ValueId from, ValueId to, const Levels& levels, int channel_axis, NodeId before) {
    ir::Node& node = graph_.add_node(OpKind::kPointwise, NoParams{}, {from}, {to}, before);
    node.name = graph_.value(to).name;
    ir::SsaProgram program;
    const auto constant = [&](double value) { return program.constant(value); };
    const double inverse = 1 / static_cast<double>(levels.scale);
    ir::PwValue factor = constant(inverse);
    if (!levels.factors.empty()) {
      const int rank = graph_.value(from).rank();
      std::vector<int64_t> dims(static_cast<size_t>(rank - channel_axis), 1);
      dims[0] = static_cast<int64_t>(levels.factors.size());
      std::vector<double> inverses;
      for (const float one : levels.factors) inverses.push_back(inverse / static_cast<double>(one));
      const ValueId numbers = add_float_constant(graph_, graph_.value(from).name + "/inverse_scales", dims, inverses);
      node.inputs.push_back(numbers);
      factor = program.load(1);
    }
    ir::PwValue level = program.binary(PwOp::kMul, program.load(0), factor);
    level = program.binary(PwOp::kAdd, program.unary(PwOp::kRoundEven, level), constant(levels.zero));
    level = program.binary(PwOp::kMin, program.binary(PwOp::kMax, level, constant(0)), constant(255));
    program.store(program.convert(level, class_of(DType::kU8)));
    node.program = *program.to_program();
  }

  void add_dequantise(ValueId from, ValueId to, const LevelConstants& constants, NodeId before) {
    ir::Node& node =
        graph_.add_node(OpKind::kPointwise, NoParams{}, {from, constants.scale, constants.zero}, {to}, before);
    node.name = graph_.value(to).name;
    ir::SsaProgram program;
    const auto integer = [&](int operand) {
      return program.convert(program.load(operand, class_of(DType::kU8)), PwClass::kInt);
    };
    const ir::PwValue level = program.binary(PwOp::kSub, integer(0), integer(2));
    program.store(program.binary(PwOp::kMul, program.convert(level, PwClass::kFloat), program.load(1)));
    node.program = *program.to_program();
  }

  // A node that moves elements moves those of `bytes` in place of its input's.
  ValueId move_levels(NodeId id, ValueId bytes) {
    const ir::Value moved = graph_.value(graph_.node(id).outputs[0]);
    const ValueId to = graph_.add_value(moved.name + "/levels", DType::kU8, moved.dims).id;
    ir::Node& node = graph_.node(id);
    node.inputs[0] = bytes;
    node.outputs[0] = to;
    graph_.value(to).producer = id;
    graph_.value(moved.id).producer = kNone;
    return to;
  }

  void replace_reads(NodeId id, ValueId from, ValueId to) {
    std::vector<ValueId>& inputs = graph_.node(id).inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }

  ir::Graph& graph_;
};

}  // namespace

bool quantise_layers(ir::Graph& graph, const ir::PrecisionPolicy& policy) {
  const std::vector<QuantisableNode> all = quantisable_nodes(graph);
  struct Tensor {
    Levels levels;
    std::vector<const QuantisableNode*> nodes;
  };
  std::map<ValueId, Tensor> tensors;
  for (const QuantisableNode& one : all) {
    const std::optional<Levels> levels = policy.levels_for(one.layer);
    if (!levels || !is_finite(graph.value(graph.node(one.node).inputs[1]))) continue;
    // Calibrated of a graph whose layers could.
    if (!levels->factors.empty() && static_cast<int64_t>(levels->factors.size()) != one.layer.channels) continue;
    Tensor& tensor = tensors[graph.node(one.node).inputs[0]];
    tensor.levels = *levels;
    tensor.nodes.push_back(&one);
  }
  for (const auto& [leaf, tensor] : tensors) Quantiser(graph).run(tensor.nodes, tensor.levels);
  return !tensors.empty();
}

bool expose_activations(ir::Graph& graph) {
  const std::vector<QuantisableNode> all = quantisable_nodes(graph);
  for (const QuantisableNode& one : all) {
    const std::string name = activation_output(one.layer);
    if (std::find(graph.output_names.begin(), graph.output_names.end(), name) != graph.output_names.end()) continue;
    graph.outputs.push_back(one.source);
    graph.output_names.push_back(name);
  }
  return !all.empty();
}

}  // namespace planwright::builder
