// If and Loop from graph to engine: bodies work where the values around them lie.
#include <gtest/gtest.h>

#include "tests/support/built_engine.h"
#include "tests/support/control_graph.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::ValueId;
using planwright::testing::add_if;
using planwright::testing::add_loop;
using planwright::testing::expect_engine_matches;
using planwright::testing::GraphBuilder;
using planwright::testing::is_positive;

using Values = std::vector<ValueId>;

// Inputs are random, so both branches are taken in several rounds.
TEST(ControlEngine, AnIfComputesTheBranchItTakes) {
  expect_engine_matches(
      [](GraphBuilder& b) {
        const ValueId x = b.input("x", {b.symbol("n", 1, 3), 4, 5});
        const ValueId turned = b.transpose("turned", x, {0, 2, 1});
        const Values made = add_if(
            b, "if", is_positive(b, "positive", x), {turned, b.weights("w", {4, 3})},
            [](GraphBuilder& body, const Values& in) {
              return Values{body.matmul("product", in[0], in[1]), in[0]};
            },
            [](GraphBuilder& body, const Values& in) {
              const ValueId product = body.relu("rectified", body.matmul("other", in[0], in[1]));
              return Values{product, body.unary(PwOp::kNeg, "negative", in[0])};
            });
        b.output(b.unary(PwOp::kTanh, "y", made[0]));
        b.output(made[1]);
      },
      8);
}

TEST(ControlEngine, ABranchMayGiveBackConstantsAndOneValueTwice) {
  expect_engine_matches(
      [](GraphBuilder& b) {
        const ValueId x = b.input("x", {2, 3});
        const Values made = add_if(
            b, "if", is_positive(b, "positive", x), {x},
            [](GraphBuilder& body, const Values&) {
              const ValueId c = body.weights("c", {2, 3});
              return Values{c, c};
            },
            [](GraphBuilder& body, const Values& in) {
              const ValueId y = body.relu("r", in[0]);
              return Values{y, y};
            });
        b.output(made[0]);
        b.output(made[1]);
      },
      8);
}

// The guards of a branch were checked, and its steps placed, whether it was taken or not.
TEST(ControlEngine, AShapeThatABranchCannotRunIsRefusedOnlyWhereItIsTaken) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 1, 8);
  const ValueId x = b.input("x", {n});
  const Values made = add_if(
      b, "if", is_positive(b, "positive", x), {x},
      [n](GraphBuilder& body, const Values& in) {
        body.graph.guards.push_back({false, 2, n, "cut", "two are cut off"});
        const ir::Shape rest{n - 2}, whole{n};
        ir::Node& cut = body.node(OpKind::kSlice, "cut", {in[0]}, SliceParams{}, &rest);
        cut.scalars = {2, 1};
        ir::Node& pad = body.node(OpKind::kPad, "pad", {cut.outputs[0]}, PadParams{}, &whole);
        pad.scalars = {2, 0};
        return Values{pad.outputs[0]};
      },
      [](GraphBuilder& body, const Values& in) { return Values{body.unary(PwOp::kNeg, "negative", in[0])}; });
  b.output(made[0]);
  const BuildOptions options = planwright::testing::untimed_options(b.graph);
  const planwright::testing::BuiltEngine engine(build(std::move(b.graph), options).plan);
  const auto run = [&](const std::vector<float>& elements) {
    ir::Tensor tensor{DType::kF32, {static_cast<int64_t>(elements.size())}, ir::Bytes(elements.size() * sizeof(float))};
    std::memcpy(tensor.data.data(), elements.data(), tensor.data.size());
    return planwright::testing::elements_of<float>(engine.run({tensor}).at(0));
  };
  EXPECT_EQ(run({1, 2, 3}), (std::vector<float>{0, 0, 3}));
  EXPECT_EQ(run({-1, -2, -3}), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(run({-5}), (std::vector<float>{5}));
  try {
    run({5});
    ADD_FAILURE() << "it ran";
  } catch (const pw::Failure& failure) {
    EXPECT_EQ(failure.status(), PW_INVALID);
    EXPECT_NE(std::string(failure.what()).find("layer cut cannot run at these shapes"), std::string::npos)
        << failure.what();
  }
}

// h = tanh(h * w + x[i]), every h stacked.
TEST(ControlEngine, ALoopCarriesStatesSlicesAndStacks) {
  expect_engine_matches([](GraphBuilder& b) {
    const Dim n = b.symbol("n", 1, 4, 0, 1);
    const ValueId x = b.input("x", {6, n, 8}), first = b.input("first", {n, 8});
    const Values made =
        add_loop(b, "loop", 6, {first}, {x, b.weights("w", {8, 8})}, [n](GraphBuilder& body, const Values& in) {
          const Dim i = (*body.graph.value(in[0]).elements)[0];
          const ir::Shape row{1, n, 8};
          ir::Node& slice = body.node(OpKind::kSlice, "slice", {in[2]}, SliceParams{}, &row);
          slice.scalars = {i, 0, 0, 1, 1, 1};
          const ValueId x_i = body.reshape("x_i", slice.outputs[0], {n, 8});
          const ValueId sum = body.binary(PwOp::kAdd, "sum", body.matmul("product", in[1], in[3]), x_i);
          const ValueId h = body.unary(PwOp::kTanh, "h", sum);
          return Values{h, h};
        });
    b.output(made[0]);
    b.output(made[1]);
    b.output(b.relu("after", first));  // the first state is still there
  });
}

// Two states change places: what an iteration reads must not be overwritten by what it makes.
TEST(ControlEngine, StatesMayChangePlaces) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId x = b.input("x", {2, 3});
    const ValueId a = b.relu("a", x), c = b.unary(PwOp::kNeg, "c", x);
    const Values made = add_loop(b, "loop", 3, {a, c}, {}, [](GraphBuilder& body, const Values& in) {
      return Values{in[2], body.scalar(PwOp::kAdd, "more", in[1], 1)};
    });
    b.output(made[0]);
    b.output(made[1]);
  });
}

// A state that begins as part of a value which is read again later.
TEST(ControlEngine, AStateThatIsMovedFromElsewhereLeavesItAlone) {
  expect_engine_matches([](GraphBuilder& b) {
    const ValueId x = b.relu("rectified", b.input("x", {2, 6}));
    const Values made = add_loop(
        b, "loop", 2, {b.reshape("first", x, {3, 4})}, {},
        [](GraphBuilder& body, const Values& in) { return Values{body.scalar(PwOp::kAdd, "more", in[1], 1)}; });
    b.output(made[0]);
    b.output(b.unary(PwOp::kTanh, "later", b.binary(PwOp::kAdd, "both", x, b.reshape("back", made[0], {2, 6}))));
  });
}

TEST(ControlEngine, ALoopEndsWithItsConditionAndHoldsAnother) {
  expect_engine_matches(
      [](GraphBuilder& b) {
        const ValueId x = b.input("x", {4});
        const ValueId goes_on = is_positive(b, "goes_on", x);
        const ValueId w = b.weights("w", {4});
        const Values made = add_loop(
            b, "outer", 5, {goes_on, x}, {w},
            [](GraphBuilder& body, const Values& in) {
              const Values inner =
                  add_loop(body, "inner", 2, {in[2]}, {in[3]}, [](GraphBuilder& body, const Values& in) {
                    return Values{body.binary(PwOp::kSub, "less", in[1], in[2]), body.unary(PwOp::kNeg, "row", in[1])};
                  });
              const ValueId rows = body.reduce("rows", ReduceKind::kMean, inner[1], 1);
              const ValueId next = body.binary(PwOp::kAdd, "next", inner[0], body.reshape("flat", rows, {4}));
              return Values{is_positive(body, "positive", next), next};
            },
            true);
        b.output(made[1]);
      },
      8);
}

// Only one branch's results are ever there: the copy of x in another order, and what is made of it.
TEST(ControlEngine, BranchesShareMemory) {
  GraphBuilder b;
  const ValueId x = b.input("x", {64, 64});
  const auto branch = [](GraphBuilder& body, const Values& in) {
    const ValueId first = body.add(OpKind::kSoftmax, "first", {in[0]}, SoftmaxParams{.axis = 0, .log = 0});
    return Values{body.add(OpKind::kSoftmax, "second", {first}, SoftmaxParams{.axis = 1, .log = 0})};
  };
  b.output(add_if(b, "if", b.input("condition", {1}, DType::kBool), {x}, branch, branch)[0]);
  const auto options = planwright::testing::untimed_options(b.graph);
  const BuildResult built = build(std::move(b.graph), options);
  const planfmt::ProgramModel& program = built.plan.programs[0];
  EXPECT_EQ(program.bodies.size(), 2u);
  EXPECT_LE(program.arena_size, 2u * 64 * 64 * 4);
}

}  // namespace
}  // namespace planwright::builder
