// Which values become bf16, and engines whose kernels exchange bf16.
#include "builder/half_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "builder/passes/passes.h"
#include "tactics/kernels/cpu.h"
#include "tests/support/built_engine.h"

namespace planwright::builder {
namespace {

using ir::ValueId;
using planwright::testing::BuiltEngine;
using planwright::testing::draw_symbols;
using planwright::testing::expect_near;
using planwright::testing::GraphBuilder;
using planwright::testing::input_dims;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HalfStorageTest : public ::testing::Test, public GraphBuilder {
 protected:
  ValueId product(const std::string& name, ValueId x) { return matmul(name, x, weights(name + "_w", {8, 8})); }

  // Names of the values that become bf16 when these nodes multiply in bf16. No passes run before.
  std::vector<std::string> halves(const std::set<std::string>& multiplying) {
    std::set<ir::NodeId> nodes;
    for (const ir::NodeId id : graph.order()) {
      if (multiplying.contains(graph.node(id).name)) nodes.insert(id);
    }
    HalfStorage storage(graph, nodes);
    storage.apply();
    EXPECT_EQ(ir::verify(graph), "");
    std::vector<std::string> names;
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).dtype == DType::kBF16) names.push_back(graph.value(id).name);
    }
    EXPECT_EQ(storage.empty(), names.empty());
    storage.undo();
    EXPECT_EQ(ir::verify(graph), "");
    for (ValueId id = 0; id < graph.value_count(); ++id) EXPECT_EQ(graph.value(id).dtype, DType::kF32);
    return names;
  }

  ValueId x_ = input("x", {4, 8});
};

TEST_F(HalfStorageTest, IsBetweenContractions) {
  output(product("c", product("b", product("a", x_))));
  EXPECT_THAT(halves({"a", "b", "c"}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(halves({"a", "b"}), UnorderedElementsAre("a"));
  EXPECT_THAT(halves({"a", "c"}), IsEmpty());
}

TEST_F(HalfStorageTest, IsNotWhereAnythingElseReads) {
  const ValueId a = product("a", x_);
  output(product("b", a));
  output(unary(PwOp::kExp, "other", a));
  EXPECT_THAT(halves({"a", "b"}), IsEmpty());
}

TEST_F(HalfStorageTest, IsNotAComputedMatrix) {
  const ValueId a = product("a", x_), square = matmul("square", transpose("t", a, {1, 0}), a);
  output(product("b", square));
  EXPECT_THAT(halves({"a", "b", "square"}), UnorderedElementsAre("square"));
}

// As the first operand of an epilogue that adds it; a row that repeats is one, too, but not of the output's dims.
TEST_F(HalfStorageTest, IsAResidual) {
  const ValueId a = product("a", x_), b = product("b", a);
  output(product("c", binary(PwOp::kAdd, "sum", b, a)));
  ASSERT_TRUE(fuse_epilogues(graph));
  remove_dead_code(graph);
  EXPECT_THAT(halves({"a", "b", "c"}), UnorderedElementsAre("a", "sum"));
}

class HalfPoolTest : public HalfStorageTest {
 protected:
  ValueId pool(const std::string& name, PoolKind kind, ValueId x) {
    PoolParams params;
    params.kind = kind;
    params.spatial = 2;
    params.kernel[0] = params.kernel[1] = 1;
    params.stride[0] = params.stride[1] = 1;
    const ir::Shape dims = graph.value(x).dims;
    ir::Node& made = node(OpKind::kPool, name, {x}, params, &dims);
    made.scalars = {0, 0, 0, 0};
    return made.outputs[0];
  }
  ValueId conv1(const std::string& name, ValueId x) { return conv(name, x, weights(name + "_w", {4, 4, 1, 1})); }

  ValueId image_ = input("image", {1, 4, 5, 5});
};

TEST_F(HalfPoolTest, IsAroundAMaximum) {
  output(conv1("b", pool("p", PoolKind::kMax, conv1("a", image_))));
  output(x_);
  EXPECT_THAT(halves({"a", "b"}), UnorderedElementsAre("a", "p"));
  EXPECT_THAT(halves({"a"}), IsEmpty());
  EXPECT_THAT(halves({"b"}), IsEmpty());
}

TEST_F(HalfPoolTest, IsNotAroundAMean) {
  output(conv1("b", pool("p", PoolKind::kAverage, conv1("a", image_))));
  output(x_);
  EXPECT_THAT(halves({"a", "b"}), IsEmpty());
}

// Both branches, a pool and a residual: built, opened and run with bf16 between the layers.
TEST(HalfStorageEngine, GivesWhatTheGraphSays) {
  const auto make = [](GraphBuilder& b) {
    const ir::Dim n = b.symbol("n", 1, 3, 0, 0), w = b.symbol("w", 4, 40, 0, 3);
    const ValueId x = b.input("x", {n, 3, 9, w});
    const ValueId a = b.relu("a", b.conv("c0", x, b.weights("w0", {32, 3, 3, 3}), 1));
    PoolParams params;
    params.kind = PoolKind::kMax;
    params.spatial = 2;
    params.kernel[0] = params.kernel[1] = params.stride[0] = params.stride[1] = 1;
    const ir::Shape dims = b.graph.value(a).dims;
    ir::Node& pool = b.node(OpKind::kPool, "pool", {a}, params, &dims);
    pool.scalars = {0, 0, 0, 0};
    const ValueId left = b.relu("left", b.conv("c1", pool.outputs[0], b.weights("w1", {32, 32, 3, 3}), 1));
    const ValueId right = b.conv("c2", pool.outputs[0], b.weights("w2", {32, 32, 1, 1}));
    ConcatParams concat;
    concat.axis = 1;
    const ValueId joined = b.add(OpKind::kConcat, "joined", {left, right}, concat);
    const ValueId sum = b.binary(PwOp::kAdd, "sum", b.conv("c3", joined, b.weights("w3", {32, 64, 1, 1})), left);
    b.output(b.conv("y", sum, b.weights("w4", {5, 32, 1, 1})));
  };
  GraphBuilder original, placed;
  make(original);
  make(placed);
  const ir::Graph& graph = original.graph;
  BuildOptions options = planwright::testing::untimed_options(graph);
  options.search.bf16 = true;
  const BuildResult built = build(std::move(placed.graph), options);
  int halves = 0;
  for (const planfmt::TensorModel& tensor : built.plan.programs.at(0).tensors) halves += tensor.dtype == DType::kBF16;
  // A CPU that does not multiply in bf16 has no kernels that would exchange it.
  if (detect_isa() >= Isa::kAvx512Vnni) {
    EXPECT_GE(halves, 6);
  } else {
    EXPECT_EQ(halves, 0);
  }
  const BuiltEngine engine(built.plan);
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    const auto input = planwright::testing::random_tensor(input_dims(graph, draw_symbols(graph, round, random))[0],
                                                          static_cast<unsigned>(round));
    const std::vector<ir::Tensor> want = interpret(graph, {input});
    std::vector<float> magnitudes = planwright::testing::elements_of<float>(want[0]);
    double squares = 0;
    for (const float value : magnitudes) squares += static_cast<double>(value) * value;
    // Of sums of a thousand products, each rounded to 8 bits.
    const double typical = std::sqrt(squares / static_cast<double>(magnitudes.size()));
    expect_near(engine.run({input}, 1 + round % 2)[0], want[0], 0.04 * typical, "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace planwright::builder
