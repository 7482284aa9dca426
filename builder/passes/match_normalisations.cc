// LayerNorm and Softmax from the parts that exporters break them into. A pattern is taken only where nothing else reads
// what lies between its ends.
#include <algorithm>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::ValueId;

// The nodes that a match replaces, for their names.
using Parts = std::vector<const ir::Node*>;

// The one operation that reads `id`, when nothing else does.
std::optional<OneOp> only_op_on(ir::Graph& graph, ValueId id) {
  ir::Node* user = only_user(graph, id);
  return user == nullptr ? std::nullopt : one_op_of(graph, user->outputs[0]);
}

std::optional<OneOp> op_with(ir::Graph& graph, ValueId id, PwOp kind) {
  std::optional<OneOp> op = one_op_of(graph, id);
  if (!op || op->op != kind) return std::nullopt;
  return op;
}

const ir::Node* reduction(ir::Graph& graph, ValueId id, ReduceKind kind) {
  const ir::Node* node = producer_of(graph, id, OpKind::kReduce);
  return node != nullptr && node->as<ReduceParams>().kind == kind ? node : nullptr;
}

// The first of a run of axes that ends with the last one; nullopt for other sets.
std::optional<int> trailing_axes(uint32_t axes, int rank) {
  for (int first = 0; first < rank; ++first) {
    if (axes == (1u << rank) - (1u << first)) return first;
  }
  return std::nullopt;
}

// `id` is a*a, or a to the power of 2: a.
std::optional<ValueId> squared(ir::Graph& graph, ValueId id) {
  const std::optional<OneOp> op = one_op_of(graph, id);
  if (!op || op->operands.size() != 2) return std::nullopt;
  const bool square = op->op == PwOp::kMul ? op->operands[0].value == op->operands[1].value
                                           : op->op == PwOp::kPow && op->operands[1].constant == 2.0;
  return square && op->operands[0].value != kNone ? std::optional(op->operands[0].value) : std::nullopt;
}

// The readers of a value are exactly these nodes, and it is no output.
bool read_by(ir::Graph& graph, ValueId id, const Parts& parts) {
  if (graph.is_output(id)) return false;
  for (ir::NodeId user : graph.users(id)) {
    if (std::find(parts.begin(), parts.end(), &graph.node(user)) == parts.end()) return false;
  }
  return true;
}

// Everything computed by a part but the last is read by parts only.
bool closed(ir::Graph& graph, const Parts& parts) {
  return std::all_of(parts.begin(), parts.end() - 1,
                     [&](const ir::Node* part) { return read_by(graph, part->outputs[0], parts); });
}

// Puts an operator on `input` in place of the parts, the last of which computes the result.
void replace_parts(ir::Graph& graph, const Parts& parts, OpKind kind, ir::Params params, std::vector<ValueId> inputs) {
  ir::Node& last = graph.node(parts.back()->id);
  ir::Node whole;
  whole.id = last.id;
  whole.kind = kind;
  whole.params = std::move(params);
  whole.core_inputs = static_cast<int32_t>(inputs.size());
  whole.inputs = std::move(inputs);
  whole.outputs = last.outputs;
  whole.name = parts.front()->name;
  for (const ir::Node* part : parts) take_names(whole, *part);
  for (size_t i = 0; i + 1 < parts.size(); ++i) graph.erase_node(parts[i]->id);
  last = std::move(whole);
}

// ---- Softmax: exp(x - max(x)) / sum(exp(x - max(x))), or without the max.

bool match_softmax(ir::Graph& graph, ir::Node& node) {
  const std::optional<OneOp> quotient = op_with(graph, node.outputs[0], PwOp::kDiv);
  if (!quotient || quotient->operands[1].value == kNone) return false;
  const ValueId exponential = quotient->operands[0].value;
  const ir::Node* sum = reduction(graph, quotient->operands[1].value, ReduceKind::kSum);
  if (sum == nullptr || sum->inputs[0] != exponential) return false;
  const std::optional<OneOp> exp = op_with(graph, exponential, PwOp::kExp);
  if (!exp || exp->operands[0].value == kNone) return false;
  const std::optional<OneOp> shifted = op_with(graph, exp->operands[0].value, PwOp::kSub);
  if (!shifted || shifted->operands[1].value == kNone) return false;
  const ir::Node* max = reduction(graph, shifted->operands[1].value, ReduceKind::kMax);
  const uint32_t axes = sum->as<ReduceParams>().axes;
  if (max == nullptr || max->inputs[0] != shifted->operands[0].value || max->as<ReduceParams>().axes != axes ||
      __builtin_popcount(axes) != 1) {
    return false;
  }
  const Parts parts{max, shifted->node, exp->node, sum, &node};
  if (!closed(graph, parts)) return false;
  const ValueId x = max->inputs[0];
  replace_parts(graph, parts, OpKind::kSoftmax, SoftmaxParams{__builtin_ctz(axes), 0}, {x});
  return true;
}

// ---- LayerNorm: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), or times its reciprocal; RMSNorm without
// means.

struct Deviation {
  ValueId centred = kNone;  // whose mean square it is taken of
  uint32_t axes = 0;
  double epsilon = 0;
  Parts parts;  // from the square to the addition of epsilon
};

// `id` is mean(d*d) + epsilon.
std::optional<Deviation> variance_of(ir::Graph& graph, ValueId id) {
  const std::optional<OneOp> sum = op_with(graph, id, PwOp::kAdd);
  if (!sum) return std::nullopt;
  for (int side : {0, 1}) {
    const OneOp::Operand &mean_side = sum->operands[static_cast<size_t>(side)],
                         &epsilon = sum->operands[static_cast<size_t>(1 - side)];
    if (!epsilon.constant || mean_side.value == kNone) continue;
    const ir::Node* mean = reduction(graph, mean_side.value, ReduceKind::kMean);
    if (mean == nullptr) continue;
    const std::optional<ValueId> centred = squared(graph, mean->inputs[0]);
    if (!centred) continue;
    return Deviation{*centred,
                     mean->as<ReduceParams>().axes,
                     *epsilon.constant,
                     {producer_of(graph, mean->inputs[0]), mean, sum->node}};
  }
  return std::nullopt;
}

// `id` is sqrt(mean(d*d) + epsilon), with the root among the parts.
std::optional<Deviation> deviation_of(ir::Graph& graph, ValueId id) {
  const std::optional<OneOp> root = one_op_of(graph, id);
  if (!root || root->operands[0].value == kNone) return std::nullopt;
  const bool is_root = root->op == PwOp::kSqrt || (root->op == PwOp::kPow && root->operands[1].constant == 0.5);
  if (!is_root) return std::nullopt;
  std::optional<Deviation> deviation = variance_of(graph, root->operands[0].value);
  if (deviation) deviation->parts.push_back(root->node);
  return deviation;
}

// `id` is 1 / sqrt(mean(d*d) + epsilon).
std::optional<Deviation> inverse_deviation_of(ir::Graph& graph, ValueId id) {
  const std::optional<OneOp> inverse = one_op_of(graph, id);
  if (!inverse) return std::nullopt;
  std::optional<Deviation> deviation;
  if (inverse->op == PwOp::kReciprocal) deviation = deviation_of(graph, inverse->operands[0].value);
  if (inverse->op == PwOp::kDiv && inverse->operands[0].constant == 1.0) {
    deviation = deviation_of(graph, inverse->operands[1].value);
  }
  if (inverse->op == PwOp::kPow && inverse->operands[1].constant == -0.5) {
    deviation = variance_of(graph, inverse->operands[0].value);
  }
  if (deviation) deviation->parts.push_back(inverse->node);
  return deviation;
}

// What `node` divides by its own deviation.
std::optional<Deviation> normalised_by(ir::Graph& graph, const ir::Node& node) {
  const std::optional<OneOp> op = one_op_of(graph, node.outputs[0]);
  if (!op || op->operands.size() != 2 || op->operands[0].value == kNone || op->operands[1].value == kNone) {
    return std::nullopt;
  }
  for (const size_t side : {size_t{1}, size_t{0}}) {
    std::optional<Deviation> deviation;
    if (op->op == PwOp::kDiv && side == 1) deviation = deviation_of(graph, op->operands[1].value);
    if (op->op == PwOp::kMul) deviation = inverse_deviation_of(graph, op->operands[side].value);
    if (deviation && deviation->centred == op->operands[1 - side].value) return deviation;
  }
  return std::nullopt;
}

// A constant that the operator can take as scale or bias: it broadcasts along the normalised axes only.
bool is_scale(const ir::Graph& graph, const OneOp::Operand& operand, const ir::Shape& dims, int axis) {
  if (operand.value == kNone || !graph.value(operand.value).is_constant()) return false;
  const ir::Shape& own = graph.value(operand.value).dims;
  if (own.size() > dims.size()) return false;
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t at = i + dims.size() - own.size();
    const bool normalised = static_cast<int>(at) >= axis;
    if (normalised ? !ir::proven_equal(own[i], dims[at]) : !(own[i] == ir::Dim(1))) return false;
  }
  return own.size() >= dims.size() - static_cast<size_t>(axis);
}

// Appends what follows the normalised value when it is scale, then bias.
void take_scale_and_bias(ir::Graph& graph, const ir::Shape& dims, int axis, Parts* parts,
                         std::vector<ValueId>* inputs) {
  for (PwOp kind : {PwOp::kMul, PwOp::kAdd}) {
    const ValueId result = parts->back()->outputs[0];
    const std::optional<OneOp> next = only_op_on(graph, result);
    if (!next || next->op != kind || next->node->outputs.size() != 1) return;
    const std::optional<OneOp::Operand> factor = other_operand(*next, result);
    if (!factor || !is_scale(graph, *factor, dims, axis)) return;
    inputs->push_back(factor->value);
    parts->push_back(next->node);
  }
}

// Makes `node` and the parts before it a LayerNorm of `x`.
bool make_layer_norm(ir::Graph& graph, ir::Node& node, ValueId x, bool rms, Parts parts, const Deviation& deviation) {
  const ir::Shape& dims = graph.value(x).dims;
  const std::optional<int> axis = trailing_axes(deviation.axes, static_cast<int>(dims.size()));
  if (!axis || graph.value(x).dtype != DType::kF32) return false;
  parts.push_back(&node);
  std::vector<ValueId> inputs{x};
  take_scale_and_bias(graph, dims, *axis, &parts, &inputs);
  if (!closed(graph, parts)) return false;
  replace_parts(graph, parts, OpKind::kLayerNorm,
                LayerNormParams{*axis, rms ? 1 : 0, static_cast<float>(deviation.epsilon)}, inputs);
  return true;
}

bool match_layer_norm(ir::Graph& graph, ir::Node& node) {
  const std::optional<Deviation> deviation = normalised_by(graph, node);
  if (!deviation) return false;
  const std::optional<OneOp> centred = op_with(graph, deviation->centred, PwOp::kSub);
  if (centred && centred->operands[1].value != kNone) {
    const ir::Node* mean = reduction(graph, centred->operands[1].value, ReduceKind::kMean);
    if (mean != nullptr && mean->inputs[0] == centred->operands[0].value &&
        mean->as<ReduceParams>().axes == deviation->axes) {
      Parts parts = deviation->parts;
      parts.insert(parts.begin(), {mean, centred->node});
      if (make_layer_norm(graph, node, mean->inputs[0], false, parts, *deviation)) return true;
    }
  }
  return make_layer_norm(graph, node, deviation->centred, true, deviation->parts, *deviation);
}

}  // namespace

bool match_normalisations(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    if (!graph.has_node(id) || graph.node(id).kind != OpKind::kPointwise || graph.node(id).outputs.size() != 1)
      continue;
    changed |= match_softmax(graph, graph.node(id)) || match_layer_norm(graph, graph.node(id));
  }
  return changed;
}

}  // namespace planwright::builder
