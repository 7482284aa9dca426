// Activations: each is one small program.
#include <fmt/format.h>

#include <numbers>

#include "builder/onnx/ops/activations.h"
#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// x > 0 ? yes : no, where x is NaN: no.
Reg if_positive(P& p, Reg x, Reg yes, Reg no) {
  return p.apply(PwOp::kSelect, p.apply(PwOp::kLess, p.constant(x.type, 0), x), yes, no);
}

Reg scaled(P& p, Reg x, double factor) { return p.apply(PwOp::kMul, x, p.constant(x.type, factor)); }
Reg shifted(P& p, Reg x, double offset) { return p.apply(PwOp::kAdd, x, p.constant(x.type, offset)); }

// factor * (exp(x) - 1)
Reg scaled_expm1(P& p, Reg x, double factor) { return scaled(p, shifted(p, p.apply(PwOp::kExp, x), -1), factor); }

// log(1 + exp(x)) that does not overflow: max(x, 0) + log(1 + exp(-|x|)).
Reg softplus_of(P& p, Reg x) {
  const Reg decay = p.apply(PwOp::kExp, p.apply(PwOp::kNeg, p.apply(PwOp::kAbs, x)));
  const Reg tail = p.apply(PwOp::kLog, shifted(p, decay, 1));
  return p.apply(PwOp::kAdd, p.apply(PwOp::kMax, x, p.constant(x.type, 0)), tail);
}

// max(0, min(1, alpha * x + beta))
Reg hard_sigmoid_of(P& p, Reg x, double alpha, double beta) {
  const Reg line = shifted(p, scaled(p, x, alpha), beta);
  return p.apply(PwOp::kMin, p.apply(PwOp::kMax, line, p.constant(x.type, 0)), p.constant(x.type, 1));
}

}  // namespace

Reg gelu_of(P& p, Reg x) {
  const Reg inner = p.apply(PwOp::kErf, scaled(p, x, 1 / std::numbers::sqrt2));
  return p.apply(PwOp::kMul, scaled(p, x, 0.5), shifted(p, inner, 1));
}

Reg tanh_gelu_of(P& p, Reg x) {
  const Reg cube = p.apply(PwOp::kMul, x, p.apply(PwOp::kMul, x, x));
  const Reg line = p.apply(PwOp::kAdd, x, scaled(p, cube, 0.044715));
  const Reg inner = p.apply(PwOp::kTanh, scaled(p, line, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  return p.apply(PwOp::kMul, scaled(p, x, 0.5), shifted(p, inner, 1));
}

Reg leaky_relu_of(P& p, Reg x, double alpha) { return if_positive(p, x, x, scaled(p, x, alpha)); }

std::optional<Reg> named_activation(P& p, const std::string& name, double alpha, double beta, Reg x) {
  if (name == "Relu") return p.apply(PwOp::kMax, x, p.constant(x.type, 0));
  if (name == "Tanh") return p.apply(PwOp::kTanh, x);
  if (name == "Sigmoid") return p.apply(PwOp::kSigmoid, x);
  if (name == "LeakyRelu") return leaky_relu_of(p, x, alpha);
  if (name == "HardSigmoid") return hard_sigmoid_of(p, x, alpha, beta);
  if (name == "Clip") {
    return p.apply(PwOp::kMin, p.apply(PwOp::kMax, x, p.constant(x.type, alpha)), p.constant(x.type, beta));
  }
  return std::nullopt;
}

namespace {

using Body = Reg (*)(const NodeContext& node, P& p, Reg x);

template <Body body>
void activation(NodeContext& node) {
  node.set(0, map(node, node.in(0), node.in_type(0), [&](P& p, Reg x) { return body(node, p, x); }));
}

double number(const NodeContext& node, const char* name) { return static_cast<double>(node.get_float(name)); }

Reg relu(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kMax, x, p.constant(x.type, 0)); }
Reg sigmoid(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kSigmoid, x); }
Reg tanh(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kTanh, x); }
Reg leaky_relu(const NodeContext& node, P& p, Reg x) { return leaky_relu_of(p, x, number(node, "alpha")); }
Reg elu(const NodeContext& node, P& p, Reg x) {
  return if_positive(p, x, x, scaled_expm1(p, x, number(node, "alpha")));
}
Reg selu(const NodeContext& node, P& p, Reg x) {
  const double gamma = number(node, "gamma");
  return if_positive(p, x, scaled(p, x, gamma), scaled_expm1(p, x, gamma * number(node, "alpha")));
}
Reg celu(const NodeContext& node, P& p, Reg x) {
  const double alpha = number(node, "alpha");
  const Reg below = scaled_expm1(p, scaled(p, x, 1 / alpha), alpha);
  return p.apply(PwOp::kAdd, relu(node, p, x), p.apply(PwOp::kMin, below, p.constant(x.type, 0)));
}
Reg thresholded_relu(const NodeContext& node, P& p, Reg x) {
  const Reg above = p.apply(PwOp::kLess, p.constant(x.type, number(node, "alpha")), x);
  return p.apply(PwOp::kSelect, above, x, p.constant(x.type, 0));
}
Reg hard_sigmoid(const NodeContext& node, P& p, Reg x) {
  return hard_sigmoid_of(p, x, number(node, "alpha"), number(node, "beta"));
}
Reg hard_swish(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kMul, x, hard_sigmoid_of(p, x, 1.0 / 6, 0.5)); }
Reg swish(const NodeContext& node, P& p, Reg x) {
  const double alpha = number(node, "alpha");
  return p.apply(PwOp::kMul, x, p.apply(PwOp::kSigmoid, alpha == 1 ? x : scaled(p, x, alpha)));
}
Reg mish(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kMul, x, p.apply(PwOp::kTanh, softplus_of(p, x))); }
Reg softplus(const NodeContext&, P& p, Reg x) { return softplus_of(p, x); }
Reg softsign(const NodeContext&, P& p, Reg x) { return p.apply(PwOp::kDiv, x, shifted(p, p.apply(PwOp::kAbs, x), 1)); }
Reg gelu(const NodeContext& node, P& p, Reg x) {
  const std::string approximate = node.get_string("approximate", "none");
  node.require(approximate == "none" || approximate == "tanh", fmt::format("approximate '{}' is unknown", approximate));
  return approximate == "tanh" ? tanh_gelu_of(p, x) : gelu_of(p, x);
}
// x < -lambd: x + bias; x > lambd: x - bias; else 0
Reg shrink(const NodeContext& node, P& p, Reg x) {
  const Reg lambd = p.constant(PwClass::kDouble, number(node, "lambd"));
  const Reg wide = p.convert(x, PwClass::kDouble);
  const Reg bias = p.constant(PwClass::kDouble, number(node, "bias"));
  const Reg above = p.apply(PwOp::kLess, lambd, wide);
  const Reg below = p.apply(PwOp::kLess, wide, p.apply(PwOp::kNeg, lambd));
  const Reg inner = p.apply(PwOp::kSelect, below, p.apply(PwOp::kAdd, wide, bias), p.constant(PwClass::kDouble, 0));
  return p.apply(PwOp::kSelect, above, p.apply(PwOp::kSub, wide, bias), inner);
}

void prelu(NodeContext& node) {
  ValueId slope = node.in(1);
  // Before opset 7 a slope of rank 1 belonged to the channels; since then it broadcasts as numpy does.
  if (node.since() < 7 && node.rank(slope) == 1 && node.in_rank(0) > 2 && node.dims(slope)[0] != Dim(1)) {
    slope = per_channel(node, slope, node.in_rank(0) - 2);
  }
  for (int back = 1; back <= node.rank(slope); ++back) {
    const Dim own = node.dims(slope)[static_cast<size_t>(node.rank(slope) - back)];
    const bool beyond = back > node.in_rank(0);
    if (own == Dim(1)) continue;
    if (beyond || ir::proven_different(own, node.in_dims(0)[static_cast<size_t>(node.in_rank(0) - back)])) {
      node.invalid(fmt::format("its slope {} does not broadcast to its input {}", ir::to_string(node.dims(slope)),
                               ir::to_string(node.in_dims(0))));
    }
  }
  const DType dtype = node.in_type(0);
  node.set(0, map(node, node.in(0), slope, dtype, [](P& p, Reg x, Reg a) {
             return p.apply(PwOp::kSelect, p.apply(PwOp::kLess, x, p.constant(x.type, 0)), p.apply(PwOp::kMul, x, a),
                            x);
           }));
}

constexpr ImporterRow kRows[] = {
    {"Celu", activation<celu>},
    {"Elu", activation<elu>},
    {"Gelu", activation<gelu>},
    {"HardSigmoid", activation<hard_sigmoid>},
    {"HardSwish", activation<hard_swish>},
    {"LeakyRelu", activation<leaky_relu>},
    {"Mish", activation<mish>},
    {"PRelu", prelu},
    {"Relu", activation<relu>},
    {"Selu", activation<selu>},
    {"Shrink", activation<shrink>},
    {"Sigmoid", activation<sigmoid>},
    {"Softplus", activation<softplus>},
    {"Softsign", activation<softsign>},
    {"Swish", activation<swish>},
    {"Tanh", activation<tanh>},
    {"ThresholdedRelu", activation<thresholded_relu>},
};

}  // namespace

ImporterTable activation_importers() { return kRows; }

}  // namespace planwright::builder::importer
