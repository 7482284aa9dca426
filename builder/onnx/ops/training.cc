// Steps of optimisers (ai.onnx.preview.training): each tensor's update is one program.
#include <fmt/format.h>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// The inputs after the rate and the count of updates come in groups: all tensors, all gradients, all states ...
struct Step {
  NodeContext& node;
  int groups, tensors;

  Step(NodeContext& context, int count) : node(context), groups(count), tensors((context.input_count() - 2) / count) {
    node.require(
        node.input_count() >= 2 + groups && (node.input_count() - 2) % groups == 0,
        fmt::format("{} inputs are not a rate, a count and tensors in groups of {}", node.input_count(), groups));
    for (const int i : {0, 1}) {
      node.require(ir::product(node.in_dims(i)) == Dim(1), "its rate and count must be scalars");
    }
    node.require(is_float(node.in_type(0)), fmt::format("its rate is {}, not a float", name_of(node.in_type(0))));
  }
  ValueId rate() const { return node.reshape(node.in(0), {}); }
  ValueId count() const { return node.reshape(node.in(1), {}); }
  // The rate as it is after so many updates.
  template <typename Body>
  ValueId adjusted_rate(const Body& body) const {
    return map(node, rate(), count(), node.in_type(0),
               [&](P& p, Reg rate, Reg count) { return body(p, rate, p.convert(count, rate.type)); });
  }
  double number(const char* name, float fallback) const { return static_cast<double>(node.get_float(name, fallback)); }
};

// What a tensor's program works with: all registers in the tensor's class.
struct Loaded {
  P& p;
  PwClass type;
  Reg rate, count, x, gradient, state[2];

  Reg constant(double value) const { return p.constant(type, value); }
  Reg add(Reg a, Reg b) const { return p.apply(PwOp::kAdd, a, b); }
  Reg sub(Reg a, Reg b) const { return p.apply(PwOp::kSub, a, b); }
  Reg mul(Reg a, Reg b) const { return p.apply(PwOp::kMul, a, b); }
  Reg div(Reg a, Reg b) const { return p.apply(PwOp::kDiv, a, b); }
  Reg sqrt(Reg a) const { return p.apply(PwOp::kSqrt, a); }
  Reg is_first() const { return p.apply(PwOp::kLessEqual, count, constant(0)); }
  // gradient + norm * x
  Reg regularised(double norm) const { return norm == 0 ? gradient : add(mul(constant(norm), x), gradient); }
};

// `update` returns the new tensor and writes the new states into its second argument. `rate`: a scalar, as adjusted.
template <typename Update>
void run(const Step& step, ValueId rate, const Update& update) {
  NodeContext& node = step.node;
  const int states = step.groups - 2;
  for (int i = 0; i < step.tensors; ++i) {
    P program;
    const int first = 2 + i;
    const DType dtype = node.in_type(first);
    node.require(is_float(dtype), fmt::format("a tensor of {}", name_of(dtype)));
    const PwClass type = class_of(dtype);
    std::vector<ValueId> operands{rate, step.count()};
    Loaded loaded{program, type, program.load_as(node.dtype(rate), type), program.load_as(node.in_type(1), type), {},
                  {},      {}};
    for (int group = 0; group < step.groups; ++group) {
      const int input = first + group * step.tensors;
      node.require(node.in_type(input) == dtype, "a tensor, its gradient and its state differ in type");
      operands.push_back(node.in(input));
      const Reg reg = program.load(dtype);
      (group == 0 ? loaded.x : group == 1 ? loaded.gradient : loaded.state[group - 2]) = reg;
    }
    Reg fresh[2];
    program.store(update(loaded, fresh), dtype);
    for (int state = 0; state < states; ++state) program.store(fresh[state], dtype);
    Operation operation{OpKind::kPointwise, NoParams{}, std::move(operands)};
    operation.program = program.instructions();
    operation.results.assign(static_cast<size_t>(1 + states), Result{dtype});
    const std::vector<ValueId> made = node.emit(std::move(operation));
    for (int output = 0; output <= states; ++output) {
      const int at = i + output * step.tensors;
      if (node.wants(at)) node.set(at, made[static_cast<size_t>(output)]);
    }
  }
}

void adagrad(NodeContext& node) {
  const Step step(node, 3);
  const double norm = step.number("norm_coefficient", 0), epsilon = step.number("epsilon", 0),
               decay = step.number("decay_factor", 0);
  const ValueId rate = step.adjusted_rate([&](P& p, Reg given, Reg count) {
    const Reg growth = p.apply(PwOp::kMul, count, p.constant(given.type, decay));
    return p.apply(PwOp::kDiv, given, p.apply(PwOp::kAdd, p.constant(given.type, 1), growth));
  });
  run(step, rate, [&](const Loaded& l, Reg* state) {
    const Reg gradient = l.regularised(norm);
    state[0] = l.add(l.state[0], l.mul(gradient, gradient));
    return l.sub(l.x, l.div(l.mul(l.rate, gradient), l.add(l.sqrt(state[0]), l.constant(epsilon))));
  });
}

void adam(NodeContext& node) {
  const Step step(node, 4);
  const double alpha = step.number("alpha", 0.9f), beta = step.number("beta", 0.999f),
               epsilon = step.number("epsilon", 0);
  const double norm = step.number("norm_coefficient", 0), after = step.number("norm_coefficient_post", 0);
  // The first averages are short: the rate makes up for it.
  const ValueId rate = step.adjusted_rate([&](P& p, Reg given, Reg count) {
    const Reg one = p.constant(given.type, 1), none = p.constant(given.type, 0);
    const auto rest = [&](double base) {
      return p.apply(PwOp::kSub, one, p.apply(PwOp::kPow, p.constant(given.type, base), count));
    };
    const Reg grown = p.apply(PwOp::kDiv, p.apply(PwOp::kMul, given, p.apply(PwOp::kSqrt, rest(beta))), rest(alpha));
    return p.apply(PwOp::kSelect, p.apply(PwOp::kLessEqual, count, none), given, grown);
  });
  run(step, rate, [&](const Loaded& l, Reg* state) {
    const Reg gradient = l.regularised(norm);
    state[0] = l.add(l.mul(l.constant(alpha), l.state[0]), l.mul(l.constant(1 - alpha), gradient));
    state[1] = l.add(l.mul(l.constant(beta), l.state[1]), l.mul(l.constant(1 - beta), l.mul(gradient, gradient)));
    const Reg x = l.sub(l.x, l.div(l.mul(l.rate, state[0]), l.add(l.sqrt(state[1]), l.constant(epsilon))));
    return after == 0 ? x : l.mul(l.constant(1 - after), x);
  });
}

void momentum(NodeContext& node) {
  const Step step(node, 3);
  const double alpha = step.number("alpha", 0), beta = step.number("beta", 0),
               norm = step.number("norm_coefficient", 0);
  const std::string mode = node.get_string("mode", "standard");
  node.require(mode == "standard" || mode == "nesterov", fmt::format("mode '{}' is unknown", mode));
  run(step, step.rate(), [&](const Loaded& l, Reg* state) {
    const Reg gradient = l.regularised(norm);
    const Reg share = l.p.apply(PwOp::kSelect, l.is_first(), l.constant(1), l.constant(beta));
    state[0] = l.add(l.mul(l.constant(alpha), l.state[0]), l.mul(share, gradient));
    const Reg by = mode == "standard" ? state[0] : l.add(gradient, l.mul(l.constant(alpha), state[0]));
    return l.sub(l.x, l.mul(l.rate, by));
  });
}

constexpr const char* kDomain = "ai.onnx.preview.training";

constexpr ImporterRow kRows[] = {
    {"Adagrad", adagrad, kDomain},
    {"Adam", adam, kDomain},
    {"Momentum", momentum, kDomain},
};

}  // namespace

ImporterTable training_importers() { return kRows; }

}  // namespace planwright::builder::importer
