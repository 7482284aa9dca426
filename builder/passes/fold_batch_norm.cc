// A scale and shift of each channel right after a contraction with constant weights go into the weights and a bias:
// what BatchNorm becomes at import, and Mul, Add, Sub, Div by constants.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;
using Channels = std::vector<double>;  // one number a channel, or a single one for all

// scale * x + shift, x being the contraction's result. A constant has scale 0.
struct Affine {
  Channels scale, shift;
};

bool is_zero(const Channels& values) {
  for (double value : values) {
    if (value != 0) return false;
  }
  return true;
}

template <typename Op>
Channels combine(const Channels& a, const Channels& b, Op op) {
  Channels result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = op(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  return result;
}

Channels plus(const Channels& a, const Channels& b) {
  return combine(a, b, [](double x, double y) { return x + y; });
}
Channels minus(const Channels& a, const Channels& b) {
  return combine(a, b, [](double x, double y) { return x - y; });
}
Channels times(const Channels& a, const Channels& b) {
  return combine(a, b, [](double x, double y) { return x * y; });
}

// Where a contraction's channels are.
struct Contraction {
  size_t axis_from_end = 0;  // of its output
  int64_t channels = 0;
};

std::optional<Contraction> contraction_of(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& weights = graph.value(node.inputs[1]);
  if (!weights.is_constant() || weights.dtype != DType::kF32) return std::nullopt;
  switch (node.kind) {
    case OpKind::kConv: return Contraction{weights.dims.size() - 2, weights.dims[0].constant()};
    case OpKind::kConvTranspose:
      return Contraction{weights.dims.size() - 2, weights.dims[1].constant() * node.as<ConvTransposeParams>().group};
    case OpKind::kMatMul: return Contraction{0, weights.dims.back().constant()};
    default: return std::nullopt;
  }
}

// The channel of each weight.
int64_t channel_of(const ir::Graph& graph, const ir::Node& node, int64_t index, int64_t channels) {
  const ir::Shape& dims = graph.value(node.inputs[1]).dims;
  if (node.kind == OpKind::kMatMul) return index % channels;
  int64_t window = 1;
  for (size_t i = 2; i < dims.size(); ++i) window *= dims[i].constant();
  const int64_t second = dims[1].constant();
  if (node.kind == OpKind::kConv) return index / (window * second);
  const int64_t in_channel = index / (window * second);
  const int64_t group = in_channel / (dims[0].constant() / node.as<ConvTransposeParams>().group);
  return group * second + index / window % second;
}

// What a program makes of `accumulator` (kAcc, or the load of the contraction's result), when it is affine.
class AffineProgram {
 public:
  AffineProgram(const ir::Graph& graph, const ir::Node& node, ir::ValueId result, Contraction at)
      : graph_(graph), node_(node), result_(result), at_(at) {}

  std::optional<Affine> run() {
    const SsaProgram program(node_.program);
    std::vector<std::optional<Affine>> values;
    for (const SsaInstr& instr : program.instrs()) {
      if (instr.op == PwOp::kStore) return values[static_cast<size_t>(instr.read[0])];
      const Affine* read[3] = {};
      bool known = instr.type == PwClass::kFloat;
      for (int i = 0; i < reads_of(instr.op) && known; ++i) {
        const auto& operand = values[static_cast<size_t>(instr.read[i])];
        known = operand.has_value();
        if (known) read[i] = &*operand;
      }
      values.push_back(known ? compute(instr, read) : std::nullopt);
    }
    return std::nullopt;
  }

 private:
  std::optional<Affine> compute(const SsaInstr& instr, const Affine* const (&in)[3]) const {
    switch (instr.op) {
      case PwOp::kAcc: return Affine{{1}, {0}};
      case PwOp::kConst: return Affine{{0}, {instr.as_double()}};
      case PwOp::kLoad: return load(instr);
      case PwOp::kNeg: return Affine{times(in[0]->scale, {-1}), times(in[0]->shift, {-1})};
      case PwOp::kAdd: return Affine{plus(in[0]->scale, in[1]->scale), plus(in[0]->shift, in[1]->shift)};
      case PwOp::kSub: return Affine{minus(in[0]->scale, in[1]->scale), minus(in[0]->shift, in[1]->shift)};
      case PwOp::kMul: return multiply(*in[0], *in[1]);
      case PwOp::kDiv: return divide(*in[0], *in[1]);
      case PwOp::kMulAdd: {
        std::optional<Affine> product = multiply(*in[0], *in[1]);
        if (!product) return product;
        return Affine{plus(product->scale, in[2]->scale), plus(product->shift, in[2]->shift)};
      }
      default: return std::nullopt;
    }
  }

  std::optional<Affine> load(const SsaInstr& instr) const {
    const ir::ValueId id = node_.inputs[static_cast<size_t>(node_.core_inputs) + instr.operand];
    if (id == result_) return Affine{{1}, {0}};
    std::optional<Channels> elements = channel_elements(graph_.value(id), at_.axis_from_end, at_.channels);
    if (!elements) return std::nullopt;
    return Affine{{0}, std::move(*elements)};
  }

  static std::optional<Affine> multiply(const Affine& a, const Affine& b) {
    if (is_zero(b.scale)) return Affine{times(a.scale, b.shift), times(a.shift, b.shift)};
    if (is_zero(a.scale)) return multiply(b, a);
    return std::nullopt;
  }

  static std::optional<Affine> divide(const Affine& a, const Affine& b) {
    if (!is_zero(b.scale)) return std::nullopt;
    const auto quotient = [](double x, double y) { return x / y; };
    return Affine{combine(a.scale, b.shift, quotient), combine(a.shift, b.shift, quotient)};
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  ir::ValueId result_;
  Contraction at_;
};

bool all_finite(const Affine& affine) {
  for (const Channels* values : {&affine.scale, &affine.shift}) {
    for (double value : *values) {
      if (!std::isfinite(static_cast<float>(value))) return false;
    }
  }
  return true;
}

// Puts scale into the node's weights and makes its epilogue `acc + shift`.
void rewrite(ir::Graph& graph, ir::Node& node, const Affine& affine, Contraction at) {
  const ir::Value& weights = graph.value(node.inputs[1]);
  const auto pick = [](const Channels& values, int64_t channel) {
    return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
  };
  if (affine.scale != Channels{1}) {
    std::vector<double> scaled = float_elements(weights);
    for (size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] *= pick(affine.scale, channel_of(graph, node, static_cast<int64_t>(i), at.channels));
    }
    node.inputs[1] = add_float_constant(graph, weights.name, constant_dims(weights), scaled);
  }
  node.inputs.resize(2);
  node.program.clear();
  if (is_zero(affine.shift)) return;

  std::vector<double> bias;
  for (int64_t channel = 0; channel < at.channels; ++channel) bias.push_back(pick(affine.shift, channel));
  std::vector<int64_t> dims(at.axis_from_end + 1, 1);
  dims[0] = at.channels;
  node.inputs.push_back(add_float_constant(graph, node.name + "/bias", dims, bias));
  SsaProgram program;
  program.store(program.binary(PwOp::kAdd, program.accumulator(), program.load(0)));
  node.program = *program.to_program();
}

bool fold_into_producer(ir::Graph& graph, ir::Node& pointwise) {
  if (pointwise.outputs.size() != 1 || graph.value(pointwise.outputs[0]).dtype != DType::kF32) return false;
  for (ir::ValueId result : pointwise.inputs) {
    ir::Node* node = producer_of(graph, result);
    if (node == nullptr || !takes_epilogue(node->kind) || only_user(graph, result) == nullptr) continue;
    const std::optional<Contraction> at = contraction_of(graph, *node);
    if (!at || !same_shape(graph.value(result).dims, graph.value(pointwise.outputs[0]).dims)) continue;
    const Affine nothing{{1}, {0}};
    const std::optional<Affine> inner = node->program.empty() ? nothing : AffineProgram(graph, *node, kNone, *at).run();
    const std::optional<Affine> outer = AffineProgram(graph, pointwise, result, *at).run();
    if (!inner || !outer) continue;
    const Affine both{times(inner->scale, outer->scale), plus(times(inner->shift, outer->scale), outer->shift)};
    if (!all_finite(both)) continue;
    rewrite(graph, *node, both, *at);
    take_names(*node, pointwise);
    replace_node(graph, pointwise, result);
    return true;
  }
  return false;
}

}  // namespace

bool fold_batch_norm(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kPointwise) changed |= fold_into_producer(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
