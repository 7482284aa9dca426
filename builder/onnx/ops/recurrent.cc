// RNN, GRU and LSTM: one product gives the gates of all times their input's part, the core operator does what depends
// on the state.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

struct ActivationRow {
  const char* name;
  RnnActivation activation;
  float alpha, beta;  // by default
  int numbers;        // how many of them it takes from activation_alpha and activation_beta
};

constexpr ActivationRow kActivations[] = {
    {"tanh", RnnActivation::kTanh, 0, 0, 0},
    {"sigmoid", RnnActivation::kSigmoid, 0, 0, 0},
    {"relu", RnnActivation::kRelu, 0, 0, 0},
    {"affine", RnnActivation::kAffine, 1, 0, 2},
    {"leakyrelu", RnnActivation::kLeakyRelu, 0.01f, 0, 1},
    {"thresholdedrelu", RnnActivation::kThresholdedRelu, 1, 0, 1},
    {"scaledtanh", RnnActivation::kScaledTanh, 1, 1, 2},
    {"hardsigmoid", RnnActivation::kHardSigmoid, 0.2f, 0.5f, 2},
    {"elu", RnnActivation::kElu, 1, 0, 1},
    {"softsign", RnnActivation::kSoftsign, 0, 0, 0},
    {"softplus", RnnActivation::kSoftplus, 0, 0, 0},
};

const ActivationRow& find_activation(const NodeContext& node, std::string name) {
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const ActivationRow& row : kActivations) {
    if (name == row.name) return row;
  }
  node.unsupported(fmt::format("activation '{}'", name));
}

// ONNX names f, g and h of one direction after the other; alpha and beta lists give numbers to those that take any.
void read_activations(const NodeContext& node, std::vector<std::string> names, RnnParams& params) {
  const size_t each = names.size();
  if (node.has_attribute("activations")) {
    names = node.get_strings("activations");
  } else if (params.directions == 2) {
    for (size_t i = 0; i < each; ++i) names.push_back(std::string(names[i]));
  }
  // The default of RNN's schema is for two directions.
  if (names.size() == 2 * each && params.directions == 1) names.resize(each);
  node.require(names.size() == each * static_cast<size_t>(params.directions),
               fmt::format("'activations' has {} names for {} directions", names.size(), params.directions));
  const std::vector<float> alphas = node.get_floats("activation_alpha"), betas = node.get_floats("activation_beta");
  auto alpha = alphas.begin(), beta = betas.begin();
  for (size_t i = 0; i < names.size(); ++i) {
    const ActivationRow& row = find_activation(node, names[i]);
    const size_t slot = i / each * 3 + i % each;
    params.activations[slot] = row.activation;
    params.alpha[slot] = row.numbers >= 1 && alpha != alphas.end() ? *alpha++ : row.alpha;
    params.beta[slot] = row.numbers == 2 && beta != betas.end() ? *beta++ : row.beta;
  }
}

// The inputs of ONNX's operators.
enum Input { kX = 0, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeephole, kInputs };

// [direction, gates' rows, input] and [direction, gates' rows, hidden].
struct Weights {
  ValueId of_input, of_state;
};

// What the core operator wants of X, W and the bias: see OpKind::kRnn.
struct InputPart {
  ValueId gates, bias;
};
InputPart input_part(NodeContext& node, const RnnParams& params, const Weights& weights) {
  const Dim directions = params.directions, hidden = params.hidden, rows = node.dims(weights.of_state)[1];
  const ValueId w = node.reshape(node.widened(weights.of_input), {directions * rows, node.in_dims(kX)[2]});
  const ValueId gates = node.matmul(node.widened(node.in(kX)), node.swap_last_axes(w));
  if (!node.has(kBias)) return {gates, ir::kNone};

  node.require(node.in_rank(kBias) == 2, "its bias must have two axes");
  node.guard_equal(node.in_dims(kBias)[0], directions, "biases for each direction");
  node.guard_equal(node.in_dims(kBias)[1], rows + rows, "the biases of its gates");
  const ValueId bias = node.widened(node.in(kBias));
  const auto part = [&](Dim begin, Dim length) { return node.slice(bias, 1, begin, length); };
  // Biases of the input come first, then those of the state. The reset gate of a GRU may multiply its last one.
  const bool is_reset = params.kind == RnnKind::kGru && params.linear_before_reset != 0;
  const Dim before = is_reset ? hidden + hidden : rows;
  ValueId sum = node.binary(PwOp::kAdd, part(0, before), part(rows, before));
  if (is_reset) sum = node.concat({sum, part(before, hidden)}, 1);
  return {node.binary(PwOp::kAdd, gates, node.reshape(sum, {directions * rows})),
          is_reset ? part(rows + before, hidden) : ir::kNone};
}

void recurrent(NodeContext& node, RnnKind kind, std::vector<std::string> activations, int64_t gates,
               const Weights& weights) {
  RnnParams params;
  params.kind = kind;
  const std::string direction = node.get_string("direction", "forward");
  node.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
               fmt::format("direction '{}' is unknown", direction));
  params.directions = direction == "bidirectional" ? 2 : 1;
  params.reverse = direction == "reverse" ? 1 : 0;
  params.batch_first = node.get_int("layout", 0) != 0 ? 1 : 0;
  params.linear_before_reset = node.get_int("linear_before_reset", 0) != 0 ? 1 : 0;
  params.input_forget = node.get_int("input_forget", 0) != 0 ? 1 : 0;
  params.clip = node.get_float("clip", 0);
  for (const int i : {kX, kW, kR}) node.require(node.in_rank(i) == 3, fmt::format("input {} must have three axes", i));
  const Shape &w = node.dims(weights.of_input), &r = node.dims(weights.of_state);
  const Dim hidden = r[2];
  if (!hidden.is_constant()) node.unsupported("the size of its state is not a constant");
  node.require(hidden.constant() < (int64_t{1} << 28), fmt::format("a state of {} numbers", hidden.constant()));
  node.require(node.get_int("hidden_size", hidden.constant()) == hidden.constant(),
               fmt::format("hidden_size {} is unlike its weights {}", node.get_int("hidden_size"), ir::to_string(r)));
  params.hidden = static_cast<int32_t>(hidden.constant());
  node.guard_equal(w[0], params.directions, "weights for each direction");
  node.guard_equal(r[0], params.directions, "weights for each direction");
  node.guard_equal(w[1], gates * params.hidden, "the weights of its gates");
  node.guard_equal(r[1], gates * params.hidden, "the weights of its gates");
  node.guard_equal(w[2], node.in_dims(kX)[2], "its weights and its input");
  read_activations(node, std::move(activations), params);

  const InputPart part = input_part(node, params, weights);
  Operation operation{OpKind::kRnn, params, {part.gates, node.widened(weights.of_state), part.bias}};
  for (int i = kLengths; i < kInputs; ++i) {
    const ValueId given = node.has(i) ? node.in(i) : ir::kNone;
    operation.inputs.push_back(given == ir::kNone || i == kLengths ? given : node.widened(given));
  }
  while (operation.inputs.back() == ir::kNone) operation.inputs.pop_back();
  const int outputs = kind == RnnKind::kLstm ? 3 : 2;
  operation.results.assign(static_cast<size_t>(outputs), Result{});
  for (int i = 0; i < outputs; ++i) {
    operation.results[static_cast<size_t>(i)].dtype = node.dtype(part.gates);
    // The core operator always writes the whole sequence.
    operation.results[static_cast<size_t>(i)].wanted = i == 0 || node.wants(i);
  }
  while (!operation.results.back().wanted) operation.results.pop_back();
  const std::vector<ValueId> made = node.emit(std::move(operation));
  for (size_t i = 0; i < made.size(); ++i) {
    if (node.wants(static_cast<int>(i))) node.set(static_cast<int>(i), node.cast(made[i], node.in_type(kX)));
  }
}

Weights own_weights(const NodeContext& node) { return {node.in(kW), node.in(kR)}; }
void rnn(NodeContext& node) { recurrent(node, RnnKind::kRnn, {"Tanh"}, 1, own_weights(node)); }
void gru(NodeContext& node) { recurrent(node, RnnKind::kGru, {"Sigmoid", "Tanh"}, 3, own_weights(node)); }
void lstm(NodeContext& node) { recurrent(node, RnnKind::kLstm, {"Sigmoid", "Tanh", "Tanh"}, 4, own_weights(node)); }

// [direction, columns, gates' rows] of eight bits, with a scale and a zero point for each direction or each of its
// rows, as LSTM has them.
ValueId dequantized_weights(NodeContext& node, int weights, int scale) {
  node.require(node.in_rank(weights) == 3, fmt::format("input {} must have three axes", weights));
  const Shape dims = node.in_dims(weights);
  const auto spread = [&](int input) {
    const Shape given = node.in_dims(input);
    node.require(given.size() == 1 || given.size() == 2, fmt::format("input {} must have one or two axes", input));
    node.guard_equal(given[0], dims[0], "a number for each direction");
    return node.reshape(node.cast(node.in(input), DType::kF32), {given[0], 1, given.size() == 2 ? given[1] : Dim(1)});
  };
  const ValueId centred = node.binary(PwOp::kSub, node.cast(node.in(weights), DType::kF32), spread(scale + 1));
  return node.transpose(node.binary(PwOp::kMul, centred, spread(scale)), {0, 2, 1});
}

// ONNX Runtime rounds the input and the states to eight bits only so as to multiply them as integers; here the weights
// are read back and the states stay as they are, which differs from it by that rounding.
void dynamic_quantize_lstm(NodeContext& node) {
  constexpr int kScaleOfW = kInputs, kScaleOfR = kInputs + 2;
  const Weights weights{dequantized_weights(node, kW, kScaleOfW), dequantized_weights(node, kR, kScaleOfR)};
  recurrent(node, RnnKind::kLstm, {"Sigmoid", "Tanh", "Tanh"}, 4, weights);
}

constexpr ImporterRow kRows[] = {
    {"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}, {"DynamicQuantizeLSTM", dynamic_quantize_lstm, "com.microsoft"}};

}  // namespace

ImporterTable recurrent_importers() { return kRows; }

}  // namespace planwright::builder::importer
