// softmax(scale * Q K^T + mask) V, written as MatMul, Mul or Div, Add, Softmax and MatMul, becomes one Attention, whose
// kernels never write the matrix of scores.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "builder/ir/program_ssa.h"
#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::kNone;
using ir::ValueId;

struct Match {
  ir::Node* context = nullptr;  // the second MatMul
  ValueId queries = kNone;
  ValueId keys_transposed = kNone;  // [B, H, D, T]
  ValueId values = kNone;
  ValueId mask = kNone;
  double scale = 1;
  bool zero_nan = false;
  std::vector<ir::NodeId> parts;  // what goes, `context` apart; a node may stand here twice
};

// A tensor of f32 that only `match` will read no longer: computed by a node whose only reader goes too.
bool is_private(ir::Graph& graph, ValueId id) {
  return graph.value(id).dtype == DType::kF32 && only_user(graph, id) != nullptr;
}

// `op` is x times or divided by a constant: x, and *scale is multiplied by the factor.
std::optional<ValueId> scaled(const OneOp& op, double* scale) {
  if (op.operands.size() != 2) return std::nullopt;
  const OneOp::Operand &a = op.operands[0], &b = op.operands[1];
  if (op.op == PwOp::kMul && b.constant && a.value != kNone) return *scale *= *b.constant, a.value;
  if (op.op == PwOp::kMul && a.constant && b.value != kNone) return *scale *= *a.constant, b.value;
  if (op.op == PwOp::kDiv && b.constant && *b.constant != 0 && a.value != kNone) {
    return *scale /= *b.constant, a.value;
  }
  return std::nullopt;
}

// Steps over a scaling of a value that nothing else reads.
ValueId without_scale(ir::Graph& graph, ValueId id, Match* match) {
  while (is_private(graph, id)) {
    const std::optional<OneOp> op = one_op_of(graph, id);
    const std::optional<ValueId> inner = op ? scaled(*op, &match->scale) : std::nullopt;
    if (!inner || !same_shape(graph.value(*inner).dims, graph.value(id).dims)) break;
    match->parts.push_back(op->node->id);
    id = *inner;
  }
  return id;
}

// Whether a mask can be read as [B, H, S, T]: each axis is 1 or the scores' own.
bool is_mask(const ir::Graph& graph, ValueId id, const ir::Shape& scores) {
  const ir::Value& mask = graph.value(id);
  if (mask.dtype != DType::kF32 || mask.dims.size() > scores.size()) return false;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const size_t at = i + scores.size() - mask.dims.size();
    if (!(mask.dims[i] == ir::Dim(1)) && !ir::proven_equal(mask.dims[i], scores[at])) return false;
  }
  return true;
}

// From the softmax's input back to the first MatMul: scaling and one addition of a mask, the mask outermost.
const ir::Node* scores_product(ir::Graph& graph, ValueId id, Match* match) {
  const std::optional<OneOp> sum = is_private(graph, id) ? one_op_of(graph, id) : std::nullopt;
  if (sum && sum->op == PwOp::kAdd) {
    const ir::Shape& dims = graph.value(id).dims;
    for (size_t side : {size_t{0}, size_t{1}}) {
      const OneOp::Operand &scores = sum->operands[side], &mask = sum->operands[1 - side];
      if (scores.value == kNone || mask.value == kNone) continue;
      if (!same_shape(graph.value(scores.value).dims, dims) || !is_mask(graph, mask.value, dims)) continue;
      Match with_mask = *match;
      with_mask.mask = mask.value;
      with_mask.parts.push_back(sum->node->id);
      const ValueId inner = without_scale(graph, scores.value, &with_mask);
      const ir::Node* product = producer_of(graph, inner, OpKind::kMatMul);
      if (product == nullptr || !is_private(graph, inner)) continue;
      *match = std::move(with_mask);
      return product;
    }
  }
  id = without_scale(graph, id, match);
  return is_private(graph, id) ? producer_of(graph, id, OpKind::kMatMul) : nullptr;
}

// What a program computes behind conversions.
const ir::SsaInstr& unconverted(const ir::SsaProgram& program, ir::PwValue value) {
  while (program.at(value).op == PwOp::kConvert || program.at(value).op == PwOp::kNarrow) {
    value = program.at(value).read[0];
  }
  return program.at(value);
}

// The value that `read` loads; kNone where it is something else.
ValueId loaded(const ir::Node& node, const ir::SsaProgram& program, ir::PwValue read) {
  const ir::SsaInstr& load = unconverted(program, read);
  return load.op == PwOp::kLoad ? node.inputs[load.operand] : kNone;
}

// Where(IsNaN(x), 0, x), as PyTorch's exporter writes it behind the softmax of masked scores: x; else `id`.
ValueId without_nan_check(ir::Graph& graph, ValueId id, Match* match) {
  ir::Node* choice = producer_of(graph, id, OpKind::kPointwise);
  if (choice == nullptr || choice->outputs.size() != 1 || !is_private(graph, id)) return id;
  const ir::SsaProgram program(choice->program);
  const ir::SsaInstr& select = program.at(program.stored(0));
  if (select.op != PwOp::kSelect || select.type != PwClass::kFloat) return id;
  const ir::SsaInstr& yes = program.at(select.read[1]);
  const ValueId zero = loaded(*choice, program, select.read[1]);
  const bool is_zero =
      yes.op == PwOp::kConst ? yes.as_double() == 0 : zero != kNone && splat_of(graph.value(zero)) == 0;
  const ValueId x = loaded(*choice, program, select.read[2]), condition = loaded(*choice, program, select.read[0]);
  ir::Node* check = condition == kNone ? nullptr : producer_of(graph, condition, OpKind::kPointwise);
  if (!is_zero || x == kNone || graph.value(x).dtype != DType::kF32) return id;
  // A zero of more axes would make more of the probabilities.
  if (!same_shape(graph.value(x).dims, graph.value(id).dims)) return id;
  if (check == nullptr || check->outputs.size() != 1) return id;

  const ir::SsaProgram test(check->program);
  const ir::SsaInstr& is_nan = unconverted(test, test.stored(0));
  if (is_nan.op != PwOp::kIsNan || loaded(*check, test, is_nan.read[0]) != x) return id;
  if (only_user(graph, condition) != choice || graph.is_output(x) || graph.users(x).size() != 2) return id;
  match->zero_nan = true;
  match->parts.push_back(choice->id);
  match->parts.push_back(check->id);
  return x;
}

std::optional<Match> match_at(ir::Graph& graph, ir::Node& context) {
  if (context.kind != OpKind::kMatMul || !context.program.empty()) return std::nullopt;
  Match match;
  match.context = &context;
  match.values = context.inputs[1];
  const ValueId probabilities = without_nan_check(graph, context.inputs[0], &match);
  ir::Node* softmax = producer_of(graph, probabilities, OpKind::kSoftmax);
  const int rank = graph.value(probabilities).rank();
  if (softmax == nullptr || (rank != 3 && rank != 4)) return std::nullopt;
  if (!match.zero_nan && !is_private(graph, probabilities)) return std::nullopt;
  const auto& params = softmax->as<SoftmaxParams>();
  if (params.axis != rank - 1 || params.log != 0) return std::nullopt;
  match.parts.push_back(softmax->id);

  const ir::Node* product = scores_product(graph, softmax->inputs[0], &match);
  if (product == nullptr || !product->program.empty()) return std::nullopt;
  match.parts.push_back(product->id);
  match.queries = without_scale(graph, product->inputs[0], &match);
  match.keys_transposed = without_scale(graph, product->inputs[1], &match);

  // All operands have the batch axes of the scores: MatMul's broadcasting is not Attention's.
  const ir::Shape& scores = graph.value(probabilities).dims;
  for (ValueId id : {match.queries, match.keys_transposed, match.values}) {
    const ir::Value& value = graph.value(id);
    if (value.dtype != DType::kF32 || value.rank() != rank) return std::nullopt;
    for (int i = 0; i + 2 < rank; ++i) {
      if (!ir::proven_equal(value.dims[static_cast<size_t>(i)], scores[static_cast<size_t>(i)])) return std::nullopt;
    }
  }
  // What is to disappear may be an operand, too: scores added to themselves, probabilities times themselves.
  for (ValueId id : {match.queries, match.keys_transposed, match.values, match.mask}) {
    const ir::NodeId producer = id == kNone ? kNone : graph.value(id).producer;
    if (producer != kNone && std::ranges::find(match.parts, producer) != match.parts.end()) return std::nullopt;
  }
  if (!std::isfinite(match.scale) || graph.value(context.outputs[0]).dtype != DType::kF32) return std::nullopt;
  return match;
}

// Adds a node of one output in front of the attention.
ValueId add_before(ir::Graph& graph, const ir::Node& at, OpKind kind, ir::Params params, ValueId input, ir::Shape dims,
                   const std::string& suffix) {
  const ValueId out = graph.add_value(graph.value(input).name + suffix, graph.value(input).dtype, std::move(dims)).id;
  ir::Node& node = graph.add_node(kind, std::move(params), {input}, {out}, at.id);
  node.name = at.name + suffix;
  node.onnx = at.onnx;
  return out;
}

// [H, S, D] as [1, H, S, D]; what has four axes as it is.
ValueId with_batch(ir::Graph& graph, const ir::Node& at, ValueId id) {
  ir::Shape dims = graph.value(id).dims;
  if (dims.size() == 4) return id;
  dims.insert(dims.begin(), 1);
  return add_before(graph, at, OpKind::kReshape, NoParams{}, id, std::move(dims), "/batch");
}

// [B, H, D, T] to [B, H, T, D].
ValueId transposed_keys(ir::Graph& graph, const ir::Node& at, ValueId id) {
  ir::Shape dims = graph.value(id).dims;
  std::swap(dims[2], dims[3]);
  TransposeParams params;
  for (int i = 0; i < 4; ++i) params.perm[i] = i < 2 ? i : 5 - i;
  return add_before(graph, at, OpKind::kTranspose, params, id, std::move(dims), "/transposed");
}

void rewrite(ir::Graph& graph, const Match& match) {
  ir::Node& context = *match.context;
  AttentionParams params;
  params.scale = static_cast<float>(match.scale);
  params.zero_nan = match.zero_nan;
  std::vector<ValueId> inputs{with_batch(graph, context, match.queries),
                              transposed_keys(graph, context, with_batch(graph, context, match.keys_transposed)),
                              with_batch(graph, context, match.values)};
  if (match.mask != kNone) inputs.push_back(match.mask);

  ValueId result = context.outputs[0];
  const ir::Value& out = graph.value(result);
  const bool add_batch = out.rank() == 3;
  if (add_batch) {
    ir::Shape dims = out.dims;
    dims.insert(dims.begin(), 1);
    result = graph.add_value(out.name + "/batch", out.dtype, std::move(dims)).id;
  }
  ir::Node& attention = graph.add_node(OpKind::kAttention, params, std::move(inputs), {result}, context.id);
  attention.name = context.name;
  for (ir::NodeId part : match.parts) take_names(attention, graph.node(part));
  take_names(attention, context);
  for (ir::NodeId part : match.parts) {
    if (graph.has_node(part)) graph.erase_node(part);
  }
  if (add_batch) {
    context.kind = OpKind::kReshape;
    context.inputs = {result};
    context.core_inputs = 1;
    context.onnx = attention.onnx;
  } else {
    graph.erase_node(context.id);
    graph.value(result).producer = attention.id;
  }
}

}  // namespace

bool match_attention(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    if (!graph.has_node(id)) continue;
    const std::optional<Match> match = match_at(graph, graph.node(id));
    if (!match) continue;
    rewrite(graph, *match);
    changed = true;
  }
  return changed;
}

}  // namespace planwright::builder
