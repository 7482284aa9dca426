// Whatever the passes do to a graph, its engine computes what the graph says.
#include <gtest/gtest.h>

#include "tests/support/built_engine.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Shape;
using ir::ValueId;
using planwright::testing::expect_engine_matches;
using planwright::testing::GraphBuilder;

ValueId slice(GraphBuilder& b, const std::string& name, ValueId x, const Shape& dims, const Shape& starts,
              const Shape& steps) {
  ir::Node& node = b.node(OpKind::kSlice, name, {x}, SliceParams{}, &dims);
  node.scalars = starts;
  node.scalars.insert(node.scalars.end(), steps.begin(), steps.end());
  return node.outputs[0];
}

ValueId concat(GraphBuilder& b, const std::string& name, const std::vector<ValueId>& inputs, int axis) {
  return b.node(OpKind::kConcat, name, inputs, ConcatParams{axis}).outputs[0];
}

// [n, 3, h, w] with symbols for all but the channels.
ValueId image(GraphBuilder& b, int64_t channels = 3) {
  return b.input("x", {b.symbol("n", 1, 3, 0, 0), channels, b.symbol("h", 4, 12, 0, 2), b.symbol("w", 4, 12, 0, 3)});
}

TEST(Engine, ResidualConvolutions) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId stem = b.relu("stem", b.conv("c0", image(b), b.weights("w0", {8, 3, 3, 3}), 1));
    const ValueId branch = b.relu("branch", b.conv("c1", stem, b.weights("w1", {8, 8, 3, 3}), 1));
    const ValueId sum = b.binary(PwOp::kAdd, "sum", b.conv("c2", branch, b.weights("w2", {8, 8, 1, 1})), stem);
    b.output(b.conv("y", b.relu("r", sum), b.weights("w3", {5, 8, 1, 1})));
    b.output(b.reduce("pooled", ReduceKind::kMean, sum, 0b1100));
  });
}

TEST(Engine, SqueezeAndExcite) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId a = b.conv("a", image(b), b.weights("w0", {8, 3, 1, 1}));
    const ValueId pooled = b.reduce("pooled", ReduceKind::kMean, a, 0b1100);
    const ValueId gate = b.unary(PwOp::kSigmoid, "gate", b.conv("g", pooled, b.weights("w1", {8, 8, 1, 1})));
    b.output(b.reduce("y", ReduceKind::kMax, b.binary(PwOp::kMul, "scaled", a, gate), 0b1000));
  });
}

TEST(Engine, DenselyConnectedConcats) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId a = b.conv("a", image(b), b.weights("w0", {8, 3, 3, 3}), 1);
    const ValueId c = b.relu("c", b.conv("c0", a, b.weights("w1", {4, 8, 3, 3}), 1));
    const ValueId ac = concat(b, "ac", {a, c}, 1);
    const ValueId d = b.conv("d", ac, b.weights("w2", {4, 12, 1, 1}));
    const ValueId all = concat(b, "all", {ac, d, a}, 1);
    b.output(b.conv("y", all, b.weights("w3", {4, 24, 1, 1})));
    b.output(ac);
  });
}

TEST(Engine, PiecesOfTheInput) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim h = b.symbol("h", 4, 12, 0, 2), half = floor_div(h, 2);
    const ValueId x = b.input("x", {2, 3, h, 8});
    std::vector<ValueId> pieces;
    for (const int row : {0, 1}) {
      for (const int column : {0, 1}) {
        const std::string name = "piece" + std::to_string(row * 2 + column);
        pieces.push_back(slice(b, name, x, {2, 3, half, 4}, {0, 0, row, column}, {1, 1, 2, 2}));
      }
    }
    const ValueId joined = concat(b, "joined", pieces, 1);
    b.output(b.conv("y", joined, b.weights("w", {8, 12, 3, 3}), 1));
  });
}

TEST(Engine, TokensOfAnImage) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId x = image(b);
    const Shape dims = b.graph.value(x).dims;
    const ValueId a = b.conv("a", x, b.weights("w0", {8, 3, 1, 1}));
    const ValueId flat = b.reshape("flat", a, {dims[0], 8, dims[2] * dims[3]});
    const ValueId tokens = b.transpose("tokens", flat, {0, 2, 1});
    const ValueId normal = b.add(OpKind::kLayerNorm, "normal", {tokens}, LayerNormParams{2, 0, 1e-5f});
    const ValueId mixed = b.binary(PwOp::kAdd, "mixed", b.matmul("m", normal, b.weights("wm", {8, 8})), tokens);
    const ValueId back = b.reshape("back", b.transpose("t", mixed, {0, 2, 1}), {dims[0], 8, dims[2], dims[3]});
    b.output(b.conv("y", concat(b, "joined", {a, back}, 1), b.weights("w1", {4, 16, 3, 3}), 1));
    b.output(b.add(OpKind::kSoftmax, "p", {mixed}, SoftmaxParams{1, 0}));
  });
}

TEST(Engine, HeadsOfAttention) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim n = b.symbol("n", 1, 3, 0, 0), s = b.symbol("s", 1, 9, 0, 1);
    const ValueId x = b.input("x", {n, s, 16});
    const auto heads = [&](const std::string& name) {
      const ValueId projected = b.matmul(name, x, b.weights("w" + name, {16, 16}));
      return b.transpose(name + "_heads", b.reshape(name + "_split", projected, {n, s, 4, 4}), {0, 2, 1, 3});
    };
    const ValueId q = heads("q"), k = heads("k"), v = heads("v");
    AttentionParams params;
    params.scale = 0.5f;
    const ValueId fused = b.add(OpKind::kAttention, "attention", {q, k, v}, params);
    const ValueId scores = b.matmul("scores", q, b.transpose("kt", k, {0, 1, 3, 2}));
    const ValueId weights = b.add(OpKind::kSoftmax, "softmax", {scores}, SoftmaxParams{3, 0});
    const ValueId plain = b.matmul("plain", weights, v);
    for (const ValueId id : {fused, plain}) {
      const std::string name = b.graph.value(id).name;
      const ValueId tokens = b.reshape(name + "_flat", b.transpose(name + "_t", id, {0, 2, 1, 3}), {n, s, 16});
      b.output(b.matmul(name + "_y", tokens, b.weights("wo", {16, 5})));
    }
  });
}

TEST(Engine, AChannelsLastModel) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim h = b.symbol("h", 3, 9, 0, 1);
    const ValueId x = b.input("x", {1, h, 7, 16});
    const ValueId first = b.transpose("first", x, {0, 3, 1, 2});
    const ValueId a = b.conv("a", first, b.weights("w0", {8, 16, 3, 3}), 1);
    const ValueId last = b.transpose("last", a, {0, 2, 3, 1});
    const ValueId biased = b.binary(PwOp::kAdd, "biased", last, b.weights("bias", {8}));
    b.output(b.transpose("y", b.relu("r", biased), {0, 3, 1, 2}));
    b.output(biased);
  });
}

TEST(Engine, MovementOfEveryKind) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim n = b.symbol("n", 1, 5, 0, 0);
    const ValueId x = b.input("x", {n, 6, 4});
    const ValueId a = b.relu("a", x);
    const ValueId part = slice(b, "part", a, {n, 3, 2}, {0, 5, 1}, {1, -2, 2});
    const ValueId forward = slice(b, "forward", a, {n, 2, 4}, {0, 1, 0}, {1, 3, 1});
    const ValueId wide =
        b.add(OpKind::kExpand, "wide", {b.reduce("r", ReduceKind::kSum, a, 0b10)}, NoParams{}, {2, n, 5, 4});
    b.output(b.reshape("flat", forward, {n * 8}));
    b.output(b.transpose("turned", part, {2, 0, 1}));
    b.output(b.reshape("wide_flat", wide, {2, n * 20}));
    b.output(concat(b, "joined", {part, slice(b, "corner", forward, {n, 2, 2}, {0, 0, 1}, {1, 1, 1})}, 1));
    b.output(
        b.binary(PwOp::kMul, "y", wide, b.reshape("narrow", b.reduce("s", ReduceKind::kMax, x, 0b110), {n, 1, 1})));
  });
}

TEST(Engine, OutputsThatNoStepComputes) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId x = b.input("x", {b.symbol("n", 1, 5), 4});
    const ValueId y = b.relu("y", x);
    b.output(x);
    b.output(y);
    b.output(y);
    b.output(b.weights("c", {3, 2}));
    b.output(b.transpose("t", x, {1, 0}));
    b.output(b.reshape("z", y, {b.graph.value(x).dims[0] * 4}));
    b.graph.output_names = {"x_out", "y_out", "y_again", "c_out", "t", "z"};
  });
}

TEST(Engine, PointwiseChainsOverwriteTheirInputs) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim n = b.symbol("n", 1, 6, 0, 0);
    const ValueId x = b.input("x", {n, 8});
    const ValueId a = b.unary(PwOp::kExp, "a", x);
    const ValueId c = b.unary(PwOp::kNeg, "c", b.reshape("pairs", a, {n, 4, 2}));
    const ValueId d = b.binary(PwOp::kAdd, "d", c, b.reduce("r", ReduceKind::kSum, c, 0b10));
    const ValueId e = b.unary(PwOp::kTanh, "e", b.transpose("t", d, {2, 0, 1}));
    b.output(b.reduce("y", ReduceKind::kMean, b.unary(PwOp::kAbs, "f", e), 0b1));
  });
}

// a - a[:, :1]: the part is read again and again, so it may not be overwritten on the way.
TEST(Engine, AnInputOfWhichAPartIsRepeatedIsNotOverwritten) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim n = b.symbol("n", 1, 6, 0, 0);
    const ValueId a = b.unary(PwOp::kExp, "a", b.input("x", {n, 8}));
    const ValueId first = slice(b, "first", a, {n, 1}, {0, 0}, {1, 1});
    const ValueId d = b.binary(PwOp::kSub, "d", a, first);
    b.output(b.reduce("y", ReduceKind::kSum, d, 0b10));
  });
}

// A guard shuts off the box's largest corner: the channels are 4, though the profile says 1 to 6.
TEST(Engine, MemoryIsEnoughWhereAGuardShutsTheCornerOff) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim c = b.symbol("c", 2, 6, 0, 1), h = b.symbol("h", 4, 40, 0, 2), w = b.symbol("w", 4, 40, 0, 3);
    const ValueId x = b.input("x", {1, c, h, w});
    b.graph.guards.push_back({true, c, 4, "y", "its input has the channels of its weights"});
    b.output(b.conv("y", x, b.weights("w0", {5, 4, 3, 3}), 1));
  });
}

// At some shapes of the profile a transposition moves nothing (axes of length 1); those run too.
TEST(Engine, TranspositionsOfAxesThatMayBeOneLong) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim h = b.symbol("h", 1, 9, 0, 1), w = b.symbol("w", 1, 9, 0, 2);
    b.output(b.unary(PwOp::kNeg, "y", b.transpose("t", b.relu("r", b.input("x", {3, h, w})), {0, 2, 1})));
  });
}

TEST(Engine, ConstantsInAnotherOrder) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId x = b.input("x", {b.symbol("n", 1, 3), 3, 4, 5});
    const ValueId a = b.conv("a", x, b.weights("w0", {8, 3, 1, 1}));
    const ValueId placed = b.binary(PwOp::kAdd, "placed", a, b.weights("position", {8, 4, 5}));
    b.output(b.binary(PwOp::kMul, "y", placed, b.weights("scale", {8, 1, 1})));
    b.output(b.binary(PwOp::kMul, "z", b.weights("position2", {1, 8, 4, 1}), placed));
  });
}

}  // namespace
}  // namespace planwright::builder
