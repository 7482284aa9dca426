// Random graphs of movement, pointwise work and contractions: the passes may place values as they like, the engine must
// compute what the graph says.
#include <gtest/gtest.h>

#include "tests/support/built_engine.h"
#include "tests/support/control_graph.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Shape;
using ir::ValueId;
using planwright::testing::expect_engine_matches;
using planwright::testing::GraphBuilder;

std::string numbered(const char* name, int number) { return std::string(name).append(std::to_string(number)); }

class RandomGraph {
 public:
  RandomGraph(GraphBuilder& b, uint32_t seed) : b_(b), random_(seed) {
    const Dim n = b.symbol("n", 1, 3, 0, 0), h = b.symbol("h", 2, 7, 0, 2);
    values_.push_back(b.input("x", {n, 4, h, 6}));
    values_.push_back(b.relu("start", values_[0]));
    for (int i = 0; i < 14; ++i) grow(numbered("v", i));
    // Whatever nothing reads, and one value more.
    b.output(pick());
    const ir::Users users(b.graph);
    for (const ValueId id : values_) {
      if (users.of(id).empty() && !b.graph.is_output(id)) b.output(id);
    }
    for (size_t i = 0; i < b.graph.output_names.size(); ++i)
      b.graph.output_names[i] = numbered("out", static_cast<int>(i));
  }

 private:
  size_t below(size_t bound) { return random_() % bound; }
  ValueId pick() { return values_[below(values_.size())]; }
  const Shape& dims(ValueId id) const { return b_.graph.value(id).dims; }
  size_t rank(ValueId id) const { return dims(id).size(); }

  void grow(const std::string& name) {
    const ValueId x = pick();
    switch (below(12)) {
      case 0: return keep(b_.unary(PwOp::kTanh, name, x));
      case 1: return add_pair(name, x);
      case 2: return turn(name, x);
      case 3: return merge(name, x);
      case 4: return split(name, x);
      case 5: return cut(name, x);
      case 6: return join(name, x);
      case 7: return convolve(name, x);
      case 8: return multiply(name, x);
      case 9: return choose(name, x);
      case 10: return iterate(name, x);
      default: return repeat(name, x);
    }
  }

  void keep(ValueId id) { values_.push_back(id); }

  void add_pair(const std::string& name, ValueId x) {
    for (size_t tries = 0; tries < values_.size(); ++tries) {
      const ValueId y = pick();
      if (dims(y) == dims(x)) return keep(b_.binary(PwOp::kAdd, name, x, y));
    }
  }

  void turn(const std::string& name, ValueId x) {
    std::vector<int> perm(rank(x));
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int>(i);
    for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[below(i)]);
    keep(b_.transpose(name, x, perm));
  }

  // Two neighbours become one axis.
  void merge(const std::string& name, ValueId x) {
    if (rank(x) < 2) return;
    Shape merged = dims(x);
    const size_t axis = below(rank(x) - 1);
    merged[axis] = merged[axis] * merged[axis + 1];
    merged.erase(merged.begin() + static_cast<ptrdiff_t>(axis) + 1);
    keep(b_.reshape(name, x, merged));
  }

  void split(const std::string& name, ValueId x) {
    Shape result = dims(x);
    if (result.size() >= 5) return;
    const size_t axis = below(result.size());
    const int64_t factor = below(3) == 0 ? 1 : 2;
    if (!proven_divisible(result[axis], factor)) return;
    result[axis] = floor_div(result[axis], factor);
    result.insert(result.begin() + static_cast<ptrdiff_t>(axis) + 1, Dim(factor));
    keep(b_.reshape(name, x, result));
  }

  void cut(const std::string& name, ValueId x) {
    Shape result = dims(x), starts(rank(x), Dim(0)), steps(rank(x), Dim(1));
    const size_t axis = below(rank(x));
    if (range_of(result[axis]).min < 2) return;
    switch (below(3)) {
      case 0:  // without the first
        starts[axis] = 1;
        result[axis] = result[axis] - 1;
        break;
      case 1:  // every other
        steps[axis] = 2;
        result[axis] = ceil_div(result[axis], 2);
        break;
      default:  // backwards
        starts[axis] = result[axis] - 1;
        steps[axis] = -1;
    }
    ir::Node& node = b_.node(OpKind::kSlice, name, {x}, SliceParams{}, &result);
    node.scalars = starts;
    node.scalars.insert(node.scalars.end(), steps.begin(), steps.end());
    keep(node.outputs[0]);
  }

  void join(const std::string& name, ValueId x) {
    std::vector<ValueId> parts = {x};
    const size_t axis = below(rank(x));
    for (size_t tries = 0; tries < values_.size() && parts.size() < 3; ++tries) {
      const ValueId y = pick();
      if (rank(y) != rank(x)) continue;
      Shape alike = dims(y);
      alike[axis] = dims(x)[axis];
      if (alike == dims(x)) parts.push_back(y);
    }
    keep(b_.node(OpKind::kConcat, name, parts, ConcatParams{static_cast<int32_t>(axis)}).outputs[0]);
  }

  void convolve(const std::string& name, ValueId x) {
    if (rank(x) != 4 || !dims(x)[1].is_constant()) return;
    keep(b_.conv(name, x, b_.weights(name + "_w", {4, dims(x)[1].constant(), 1, 1})));
  }

  void multiply(const std::string& name, ValueId x) {
    if (rank(x) < 2 || !dims(x).back().is_constant()) return;
    keep(b_.matmul(name, x, b_.weights(name + "_w", {dims(x).back().constant(), 6})));
  }

  void repeat(const std::string& name, ValueId x) {
    const size_t axis = below(rank(x));
    const ValueId row = b_.reduce(name + "_row", ReduceKind::kMean, x, 1u << axis);
    keep(b_.add(OpKind::kExpand, name, {row}, NoParams{}, dims(x)));
  }

  using Values = std::vector<ValueId>;

  // On the graph's input: a sum of computed values may be anything near 0.
  void choose(const std::string& name, ValueId x) {
    const Values made = planwright::testing::add_if(
        b_, name, planwright::testing::is_positive(b_, name + "_if", values_[0]), {x, pick()},
        [&](GraphBuilder& body, const Values& in) {
          return Values{body.unary(PwOp::kTanh, "t", in[0]), in[1]};
        },
        [&](GraphBuilder& body, const Values& in) {
          return Values{in[0], body.relu("r", in[1])};
        });
    keep(made[0]);
    keep(made[1]);
  }

  void iterate(const std::string& name, ValueId x) {
    const ValueId y = pick();
    const Values made =
        planwright::testing::add_loop(b_, name, 3, {x, y}, {pick()}, [&](GraphBuilder& body, const Values& in) {
          const ValueId next = body.unary(PwOp::kTanh, "next", in[1]);
          return Values{dims(x) == dims(y) ? in[2] : next, dims(x) == dims(y) ? next : in[2], body.relu("row", in[3])};
        });
    keep(made[0]);
    keep(made[1]);
    if (rank(made[2]) < 6) keep(made[2]);
  }

  GraphBuilder& b_;
  std::mt19937 random_;
  std::vector<ValueId> values_;
};

class RandomGraphs : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraphs, EngineComputesWhatTheGraphSays) {
  for (int i = 0; i < 75; ++i) {
    const uint32_t seed = static_cast<uint32_t>(GetParam() * 75 + i);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_engine_matches([&](GraphBuilder& b) { RandomGraph(b, seed); }, 1, 1e-3);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(0, 8));

}  // namespace
}  // namespace planwright::builder
