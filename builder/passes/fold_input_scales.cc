// A scale and shift of each channel right before a contraction with constant weights go into the weights and the bias:
// the other side of fold_batch_norm. Recognisers train one after every activation.
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
using ir::ValueId;

// What the program of a node does last: *scale + shift, one number for all channels or one a channel.
struct Tail {
  std::vector<double> scale{1}, shift{0};
  PwValue before = -1;  // the value that is scaled and shifted
};

// A contraction's constant weights, seen by input channel.
struct Weights {
  int64_t inputs = 0;   // channels of the contraction's input
  int64_t outputs = 0;  // of its output
  size_t input_axis_from_end = 0;
};

std::optional<Weights> weights_of(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& weights = graph.value(node.inputs[1]);
  if (!weights.is_constant() || weights.dtype != DType::kF32) return std::nullopt;
  const ir::Shape& dims = weights.dims;
  if (node.kind == OpKind::kConv) {
    return Weights{dims[1].constant() * node.as<ConvParams>().group, dims[0].constant(), dims.size() - 2};
  }
  if (node.kind == OpKind::kMatMul && dims.size() == 2) return Weights{dims[0].constant(), dims[1].constant(), 0};
  return std::nullopt;
}

// Of one weight: the input channel it multiplies and the output channel it adds to.
struct Place {
  size_t input, output;
};
Place place_of(const ir::Graph& graph, const ir::Node& node, const Weights& weights, size_t index) {
  if (node.kind == OpKind::kMatMul) {
    const auto outputs = static_cast<size_t>(weights.outputs);
    return {index / outputs, index % outputs};
  }
  const ir::Shape& dims = graph.value(node.inputs[1]).dims;
  size_t window = 1;
  for (size_t i = 2; i < dims.size(); ++i) window *= static_cast<size_t>(dims[i].constant());
  const auto inputs = static_cast<size_t>(dims[1].constant());
  const size_t output = index / (window * inputs);
  const size_t group = output * static_cast<size_t>(node.as<ConvParams>().group) / static_cast<size_t>(weights.outputs);
  return {group * inputs + index / window % inputs, output};
}

// Whether no window reaches past the input: then a shift of the input is the same in every one.
bool reads_no_padding(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind == OpKind::kMatMul) return true;
  const auto& params = node.as<ConvParams>();
  for (int i = 0; i < params.spatial; ++i) {
    const auto axis = static_cast<size_t>(i) + 2;
    const ir::Dim kernel = graph.value(node.inputs[1]).dims[axis];
    const ir::Dim out = graph.value(node.outputs[0]).dims[axis];
    const ir::Dim reach = (out - 1) * params.stride[i] + (kernel - 1) * params.dilation[i] + 1;
    if (!(node.scalars[static_cast<size_t>(i)] == ir::Dim(0)) ||
        !ir::proven_at_most(reach, graph.value(node.inputs[0]).dims[axis])) {
      return false;
    }
  }
  return true;
}

class TailReader {
 public:
  TailReader(const ir::Graph& graph, const ir::Node& node, const Weights& weights)
      : graph_(graph), node_(node), weights_(weights), program_(node.program) {}

  const SsaProgram& program() const { return program_; }

  // nullopt when the program ends otherwise.
  std::optional<Tail> run(bool with_shift) const {
    Tail tail;
    tail.before = program_.stored(0);
    const std::vector<int> uses = program_.use_counts();
    while (true) {
      const SsaInstr& instr = program_.at(tail.before);
      // What is read elsewhere in the program is still needed as it is.
      if (uses[static_cast<size_t>(tail.before)] != 1 || instr.type != PwClass::kFloat) break;
      if (!step(instr, with_shift, &tail)) break;
    }
    if (tail.before == program_.stored(0)) return std::nullopt;
    return tail;
  }

 private:
  bool step(const SsaInstr& instr, bool with_shift, Tail* tail) const {
    if (reads_of(instr.op) != 2) return false;
    for (int side : {1, 0}) {
      const std::optional<std::vector<double>> constant = channels_of(instr.read[side]);
      if (!constant || (side == 0 && (instr.op == PwOp::kSub || instr.op == PwOp::kDiv))) continue;
      // (v op c) * scale + shift
      const auto combine = [&](std::vector<double>* to, auto op) {
        std::vector<double> result(std::max({to->size(), constant->size(), tail->scale.size()}));
        for (size_t i = 0; i < result.size(); ++i) {
          result[i] = op(pick(*to, i), pick(*constant, i), pick(tail->scale, i));
        }
        *to = std::move(result);
      };
      switch (instr.op) {
        case PwOp::kMul: combine(&tail->scale, [](double s, double c, double) { return s * c; }); break;
        case PwOp::kDiv: combine(&tail->scale, [](double s, double c, double) { return s / c; }); break;
        case PwOp::kAdd:
          if (!with_shift) return false;
          combine(&tail->shift, [](double t, double c, double s) { return t + s * c; });
          break;
        case PwOp::kSub:
          if (!with_shift) return false;
          combine(&tail->shift, [](double t, double c, double s) { return t - s * c; });
          break;
        default: return false;
      }
      tail->before = instr.read[1 - side];
      return true;
    }
    return false;
  }

  static double pick(const std::vector<double>& values, size_t i) { return values.size() == 1 ? values[0] : values[i]; }

  std::optional<std::vector<double>> channels_of(PwValue value) const {
    const SsaInstr& instr = program_.at(value);
    if (instr.op == PwOp::kConst) return std::vector<double>{instr.as_double()};
    if (instr.op != PwOp::kLoad) return std::nullopt;
    const ir::Value& operand = graph_.value(node_.inputs[static_cast<size_t>(node_.core_inputs) + instr.operand]);
    return channel_elements(operand, weights_.input_axis_from_end, weights_.inputs);
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const Weights& weights_;
  const SsaProgram program_;
};

bool all_finite(const std::vector<double>& values) {
  for (double value : values) {
    if (!std::isfinite(static_cast<float>(value))) return false;
  }
  return true;
}

// The operand number of the constant bias that the program adds to the accumulator first; -1 where it does not.
int bias_operand(const ir::Graph& graph, const ir::Node& node, const SsaProgram& program, const Weights& weights) {
  const std::vector<int> uses = program.use_counts();
  for (size_t i = 0; i < program.instrs().size(); ++i) {
    const SsaInstr& instr = program.instrs()[i];
    if (instr.op != PwOp::kAdd || uses[i] == 0) continue;
    for (int side : {0, 1}) {
      const SsaInstr &acc = program.at(instr.read[side]), &other = program.at(instr.read[1 - side]);
      if (acc.op != PwOp::kAcc || uses[static_cast<size_t>(instr.read[side])] != 1 || other.op != PwOp::kLoad) continue;
      const ir::ValueId id = node.inputs[static_cast<size_t>(node.core_inputs) + other.operand];
      const auto bias = channel_elements(graph.value(id), weights.input_axis_from_end, weights.outputs);
      if (bias && uses[static_cast<size_t>(instr.read[1 - side])] == 1) return other.operand;
    }
  }
  return -1;
}

// `bias` added to the contraction's result before what its epilogue does.
bool add_bias(ir::Graph& graph, ir::Node& node, const Weights& weights, std::vector<double> bias) {
  std::vector<ValueId> operands(node.inputs.begin() + node.core_inputs, node.inputs.end());
  const SsaProgram epilogue(node.program);
  const int known = bias_operand(graph, node, epilogue, weights);
  if (known >= 0) {
    const std::vector<double> old = float_elements(graph.value(operands[static_cast<size_t>(known)]));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] += old[old.size() == 1 ? 0 : i];
  }
  std::vector<int64_t> dims(weights.input_axis_from_end + 1, 1);
  dims[0] = weights.outputs;
  const ValueId constant = add_float_constant(graph, node.name + "/bias", dims, bias);
  if (known >= 0) {
    node.inputs[static_cast<size_t>(node.core_inputs + known)] = constant;
    return true;
  }
  SsaProgram program;
  std::vector<PwValue> loads;
  for (size_t i = 0; i < operands.size(); ++i) loads.push_back(program.load(static_cast<int>(i)));
  const PwValue sum =
      program.binary(PwOp::kAdd, program.accumulator(), program.load(static_cast<int>(operands.size())));
  operands.push_back(constant);
  program.store(node.program.empty() ? sum : inline_program(program, epilogue, loads, sum)[0]);
  return set_program(node, program, operands);
}

// The node without the last operations of its program.
void cut(ir::Node& node, const SsaProgram& program, PwValue stored) {
  SsaProgram shorter;
  for (const SsaInstr& instr : program.instrs()) {
    if (instr.op != PwOp::kStore) shorter.add(instr);
  }
  shorter.store(stored);
  set_program(node, shorter, std::vector<ValueId>(node.inputs.begin() + node.core_inputs, node.inputs.end()));
}

bool fold_into_consumer(ir::Graph& graph, ir::Node& node) {
  if (!takes_epilogue(node.kind)) return false;
  const std::optional<Weights> weights = weights_of(graph, node);
  ir::Node* source = producer_of(graph, node.inputs[0]);
  if (!weights || source == nullptr || source->program.empty() || source->outputs.size() != 1 ||
      graph.value(node.inputs[0]).dtype != DType::kF32 || only_user(graph, node.inputs[0]) == nullptr ||
      std::count(node.inputs.begin(), node.inputs.end(), node.inputs[0]) != 1) {
    return false;
  }
  const TailReader reader(graph, *source, *weights);
  const std::optional<Tail> tail = reader.run(reads_no_padding(graph, node));
  if (!tail || !all_finite(tail->scale) || !all_finite(tail->shift)) return false;

  const ir::Value& old = graph.value(node.inputs[1]);
  std::vector<double> elements = float_elements(old);
  std::vector<double> bias(static_cast<size_t>(weights->outputs), 0);
  for (size_t i = 0; i < elements.size(); ++i) {
    const Place place = place_of(graph, node, *weights, i);
    const auto pick = [&](const std::vector<double>& values) {
      return values.size() == 1 ? values[0] : values[place.input];
    };
    bias[place.output] += elements[i] * pick(tail->shift);
    elements[i] *= pick(tail->scale);
  }
  const bool has_bias = std::any_of(bias.begin(), bias.end(), [](double value) { return value != 0; });
  if (!all_finite(elements) || (has_bias && (!all_finite(bias) || !add_bias(graph, node, *weights, bias))))
    return false;
  node.inputs[1] = add_float_constant(graph, old.name, constant_dims(old), elements);
  cut(*source, reader.program(), tail->before);
  return true;
}

}  // namespace

bool fold_input_scales(ir::Graph& graph) {
  bool changed = false;
  for (ir::NodeId id : graph.order()) changed |= fold_into_consumer(graph, graph.node(id));
  return changed;
}

}  // namespace planwright::builder
