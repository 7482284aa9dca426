// Random graphs of what exporters write: after every pass the graph must compute what it computed before.
#include <gtest/gtest.h>

#include <array>

#include "tests/support/control_graph.h"
#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::PwValue;
using ir::Shape;
using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::bytes_of;
using planwright::testing::expect_same;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;

std::string numbered(const char* name, int number) { return std::string(name).append(std::to_string(number)); }

// Operations are tame (bounded, continuous), so that rounding stays rounding; types other than fp32 come from an
// integer input, where everything is exact.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    n_ = b_.symbol("n", 1, 3, 0, 0);
    values_.push_back(b_.input("x", {n_, 4, 6, 5}));
    index_ = b_.input("index", {n_, 4, 6, 1}, DType::kI64);
    for (int i = 0; i < 18; ++i) grow(numbered("v", i));
    b_.output(values_.back());
    const ir::Users users(b_.graph);
    for (size_t i = 1; i + 1 < values_.size(); ++i) {
      if (users.of(values_[i]).empty() && below(2) == 0) b_.output(values_[i]);
    }
  }

  ir::Graph& graph() { return b_.graph; }

 private:
  size_t below(size_t bound) { return random_() % bound; }
  ValueId pick() { return values_[below(3) == 0 ? below(values_.size()) : values_.size() - 1]; }
  const Shape& dims(ValueId id) const { return b_.graph.value(id).dims; }
  void keep(ValueId id) { values_.push_back(id); }

  void grow(const std::string& name) {
    const ValueId x = pick();
    switch (below(15)) {
      case 0: return keep(b_.unary(std::array{PwOp::kTanh, PwOp::kSigmoid, PwOp::kAbs, PwOp::kNeg}[below(4)], name, x));
      case 1: return with_number(name, x);
      case 2: return with_number(name, x);
      case 3: return with_channels(name, x);
      case 4: return with_channels(name, x);
      case 5: return with_value(name, x);
      case 6: return swish(name, x);
      case 7: return contract(name, x);
      case 8: return contract(name, x);
      case 9: return unit_axis(name, x);
      case 10: return reduce_and_expand(name, x);
      case 11: return pad(name, x);
      case 12: return choose(name, x);
      case 13: return iterate(name, x);
      default: return selected(name, x);
    }
  }

  using Values = std::vector<ValueId>;

  // On the graph's input: a sum of computed values may be anything near 0.
  void choose(const std::string& name, ValueId x) {
    const Values made = planwright::testing::add_if(
        b_, name, planwright::testing::is_positive(b_, name + "_if", values_[0]), {x},
        [&](GraphBuilder& body, const Values& in) {
          return Values{body.scalar(PwOp::kMul, "half", body.unary(PwOp::kTanh, "t", in[0]), 0.5)};
        },
        [&](GraphBuilder& body, const Values& in) {
          return Values{body.scalar(PwOp::kAdd, "same", body.relu("r", in[0]), 0)};
        });
    keep(made[0]);
  }

  void iterate(const std::string& name, ValueId x) {
    const Values made = planwright::testing::add_loop(
        b_, name, 3, {x}, {b_.constant(name + "_c", {}, {0.5f})}, [&](GraphBuilder& body, const Values& in) {
          const ValueId sum = body.binary(PwOp::kAdd, "sum", body.scalar(PwOp::kMul, "same", in[1], 1), in[2]);
          return Values{body.unary(PwOp::kTanh, "next", sum), body.reduce("row", ReduceKind::kSum, sum, 1)};
        });
    keep(made[0]);
    b_.output(made[1]);
  }

  void with_number(const std::string& name, ValueId x) {
    static constexpr std::array kNumbers{0.0, 1.0, -1.0, 0.5, 3.0, 6.0};
    static constexpr std::array kOps{PwOp::kAdd, PwOp::kSub, PwOp::kMul, PwOp::kDiv,
                                     PwOp::kMin, PwOp::kMax, PwOp::kPow};
    const PwOp op = kOps[below(kOps.size())];
    double number = kNumbers[below(kNumbers.size())];
    if (op == PwOp::kPow) return keep(b_.scalar(op, name, b_.unary(PwOp::kTanh, name + "t", x), 2));
    if (op == PwOp::kDiv && number == 0.0) number = 2;
    if (below(2) == 0) return keep(b_.scalar(op, name, x, number));
    keep(b_.binary(op, name, x, b_.constant(name + "c", {}, {static_cast<float>(number)})));
  }

  // One number a channel, the channels of images or of rows.
  void with_channels(const std::string& name, ValueId x) {
    const Shape& shape = dims(x);
    const size_t axis = shape.size() == 4 && below(2) == 0 ? 1 : shape.size() - 1;
    if (!shape[axis].is_constant()) return;
    std::vector<int64_t> constant(shape.size() - axis, 1);
    constant[0] = shape[axis].constant();
    const ValueId c = b_.weights(name + "c", constant);
    keep(below(2) == 0 ? b_.binary(below(2) == 0 ? PwOp::kAdd : PwOp::kMul, name, x, c)
                       : b_.binary(PwOp::kSub, name, c, x));
  }

  void with_value(const std::string& name, ValueId x) {
    for (size_t tries = 0; tries < values_.size(); ++tries) {
      const ValueId y = pick();
      if (dims(y) == dims(x))
        return keep(b_.binary(std::array{PwOp::kAdd, PwOp::kSub, PwOp::kMax}[below(3)], name, x, y));
    }
  }

  void swish(const std::string& name, ValueId x) {
    keep(b_.binary(PwOp::kMul, name, x, b_.unary(PwOp::kSigmoid, name + "s", x)));
  }

  // What learnable activations end in: a scale, or a scale and a shift.
  ValueId scaled(const std::string& name, ValueId x) {
    const ValueId y = b_.scalar(PwOp::kMul, name + "a", x, 0.75);
    return below(2) == 0 ? y : b_.scalar(PwOp::kAdd, name + "b", y, 0.25);
  }

  // With something bounded in front, so that values stay small.
  void contract(const std::string& name, ValueId x) {
    const Shape shape = dims(x);
    ValueId tame = b_.unary(PwOp::kTanh, name + "t", x);
    if (below(2) == 0) tame = scaled(name, tame);
    if (shape.size() == 4 && shape[1].is_constant() && below(3) != 0) {
      const int64_t channels = shape[1].constant(), size = below(2) == 0 ? 1 : 3;
      if (size > 1 && (ir::range_of(shape[2]).min < 3 || ir::range_of(shape[3]).min < 3)) return;
      const bool depthwise = below(3) == 0;
      return keep(b_.conv(name, tame,
                          b_.weights(name + "w", {depthwise ? channels : 4, depthwise ? 1 : channels, size, size}),
                          static_cast<int64_t>(below(2)), depthwise ? static_cast<int>(channels) : 1));
    }
    if (!shape.back().is_constant()) return;
    keep(b_.matmul(name, tame, b_.weights(name + "w", {shape.back().constant(), 5})));
  }

  void unit_axis(const std::string& name, ValueId x) {
    Shape shape = dims(x);
    const auto single = std::find(shape.begin(), shape.end(), Dim(1));
    if (single != shape.end() && below(2) == 0) {
      shape.erase(single);
      if (shape.empty()) return;
    } else if (shape.size() < 5) {
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(below(shape.size() + 1)), Dim(1));
    }
    keep(b_.reshape(name, x, shape));
  }

  void reduce_and_expand(const std::string& name, ValueId x) {
    const uint32_t axes = 1u << below(dims(x).size());
    const ValueId square = below(2) == 0 ? b_.binary(PwOp::kMul, name + "q", x, x) : x;
    const ValueId mean = b_.reduce(name + "m", below(2) == 0 ? ReduceKind::kSum : ReduceKind::kMean, square, axes);
    const ValueId tame = b_.unary(PwOp::kTanh, name + "t", mean);
    const ValueId whole = b_.add(OpKind::kExpand, name + "e", {tame}, NoParams{}, dims(x));
    keep(below(2) == 0 ? b_.relu(name, whole) : b_.binary(PwOp::kMul, name, x, whole));
  }

  void pad(const std::string& name, ValueId x) {
    const Shape& shape = dims(x);
    Shape padded = shape, amounts(2 * shape.size(), Dim(0));
    for (size_t i = shape.size() < 3 ? 0 : 2; i < shape.size(); ++i) {
      amounts[i] = static_cast<int64_t>(below(2));
      amounts[shape.size() + i] = static_cast<int64_t>(below(2));
      padded[i] = shape[i] + amounts[i] + amounts[shape.size() + i];
    }
    ir::Node& node = b_.node(OpKind::kPad, name, {x}, PadParams{}, &padded);
    node.scalars = amounts;
    keep(node.outputs[0]);
  }

  // select(index < 2, x, -x), through a bool in memory.
  void selected(const std::string& name, ValueId x) {
    if (dims(x).size() != 4 || !(dims(x)[1] == Dim(4)) || !(dims(x)[2] == Dim(6)) || !(dims(x)[0] == n_)) return;
    const Shape shape = dims(index_);
    ir::Node& less = b_.node(OpKind::kPointwise, name + "l", {index_}, NoParams{}, &shape, DType::kBool);
    SsaProgram program;
    program.store(program.convert(program.binary(PwOp::kLess, program.load(0, PwClass::kInt), program.constant_int(2)),
                                  PwClass::kUint));
    less.program = *program.to_program();
    keep(b_.pointwise(name, {x, less.outputs[0]}, [](SsaProgram& p, const auto& in) {
      return p.ternary(PwOp::kSelect, p.convert(in[1], PwClass::kFloat), in[0], p.unary(PwOp::kNeg, in[0]));
    }));
  }

  std::mt19937 random_;
  GraphBuilder b_;
  Dim n_;
  ValueId index_ = ir::kNone;
  std::vector<ValueId> values_;
};

class RandomGraphs : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraphs, EveryPassKeepsWhatTheGraphComputes) {
  for (uint32_t i = 0; i < 50; ++i) {
    const uint32_t seed = GetParam() * 50 + i;
    SCOPED_TRACE(numbered("seed ", static_cast<int>(seed)));
    RandomGraph random(seed);
    ir::Graph& graph = random.graph();
    ASSERT_EQ(ir::verify(graph), "");
    std::vector<int64_t> index;
    for (int64_t j = 0; j < 48; ++j) index.push_back(j * 5 % 4);
    const std::vector<ir::Tensor> inputs{random_tensor({2, 4, 6, 5}, seed),
                                         {DType::kI64, {2, 4, 6, 1}, bytes_of(index)}};
    const std::vector<ir::Tensor> expected = ir::interpret(graph, inputs);
    PassOptions options;
    options.observe = [&](const std::string& pass, const ir::Graph& now) {
      SCOPED_TRACE(pass);
      expect_same(expected, ir::interpret(now, inputs));
    };
    run_passes(graph, options);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace planwright::builder
