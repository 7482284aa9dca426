// Nodes with bodies: their text, and the rules they must keep.
#include "builder/ir/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/control_graph.h"

namespace planwright::ir {
namespace {

using planwright::testing::add_if;
using planwright::testing::add_loop;
using planwright::testing::GraphBuilder;
using planwright::testing::is_positive;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::vector<ValueId>;

class ControlRules : public ::testing::Test {
 protected:
  ControlRules() {
    n_ = b_.symbol("n", 1, 4);
    x_ = b_.input("x", {n_, 3});
    const ValueId positive = is_positive(b_, "positive", x_);
    const Values chosen = add_if(
        b_, "if", positive, {x_}, [](GraphBuilder& body, const Values& in) { return Values{body.relu("r", in[0])}; },
        [](GraphBuilder& body, const Values& in) { return Values{body.unary(PwOp::kNeg, "m", in[0])}; });
    const Values made = add_loop(b_, "loop", 2, {chosen[0]}, {x_}, [](GraphBuilder& body, const Values& in) {
      const ValueId sum = body.binary(PwOp::kAdd, "sum", in[1], in[2]);
      return Values{sum, sum};
    });
    b_.output(made[0]);
    b_.output(made[1]);
  }

  Node& find(OpKind kind) {
    for (const NodeId id : b_.graph.order()) {
      if (b_.graph.node(id).kind == kind) return b_.graph.node(id);
    }
    throw std::logic_error("no such node");
  }

  GraphBuilder b_;
  Dim n_;
  ValueId x_ = kNone;
};

TEST_F(ControlRules, BodiesArePrintedBehindTheirNode) {
  EXPECT_EQ(verify(b_.graph), "");
  EXPECT_THAT(print(b_.graph), HasSubstr("  %if: fp32[n, 3] = If(%positive, %x, %x)  \"if\"\n"
                                         "    graph \"\"\n"
                                         "    input %x: fp32[n, 3]\n"
                                         "    %r: fp32[n, 3] = Pointwise(%x) [max(in0, 0)]  \"r\"\n"
                                         "    output %r as \"r\"\n"));
  EXPECT_THAT(print(b_.graph), HasSubstr("= Loop(%loop_trips, %if, %x) {carried=1}  \"loop\"\n"));
}

TEST_F(ControlRules, TheInterpreterRunsThem) {
  const auto outputs =
      interpret(b_.graph, {Tensor{DType::kF32, {1, 3}, planwright::testing::bytes_of<float>({1, -2, 3})}});
  EXPECT_THAT(planwright::testing::elements_of<float>(outputs[0]), ElementsAre(3, -4, 9));
  EXPECT_THAT(planwright::testing::elements_of<float>(outputs[1]), ElementsAre(2, -2, 6, 3, -4, 9));
  const auto other =
      interpret(b_.graph, {Tensor{DType::kF32, {1, 3}, planwright::testing::bytes_of<float>({1, -5, 3})}});
  EXPECT_THAT(planwright::testing::elements_of<float>(other[0]), ElementsAre(1, -5, 3));
}

TEST_F(ControlRules, AMissingBodyIsSeen) {
  find(OpKind::kIf).bodies.pop_back();
  EXPECT_THAT(verify(b_.graph), HasSubstr("bodies: 1 bodies"));
}

TEST_F(ControlRules, AnOperandTooManyIsSeen) {
  Node& node = find(OpKind::kIf);
  node.inputs.push_back(x_);
  ++node.core_inputs;
  EXPECT_THAT(verify(b_.graph), HasSubstr("4 inputs for 3 of bodies"));
}

TEST_F(ControlRules, AConditionThatIsNoBoolIsSeen) {
  find(OpKind::kIf).inputs[0] = x_;
  EXPECT_THAT(verify(b_.graph), HasSubstr("its condition is not one bool"));
}

TEST_F(ControlRules, AnOperandUnlikeTheBodysInputIsSeen) {
  Graph& body = *find(OpKind::kLoop).bodies[0];
  body.value(body.inputs[2]).dtype = DType::kF16;
  EXPECT_THAT(verify(b_.graph), HasSubstr("differ"));
}

TEST_F(ControlRules, AResultUnlikeTheBodysOutputIsSeen) {
  b_.graph.value(find(OpKind::kLoop).outputs[2]).dims = {2, n_, 4};
  EXPECT_THAT(verify(b_.graph), HasSubstr("differ"));
}

TEST_F(ControlRules, ALoopThatNothingEndsIsSeen) {
  find(OpKind::kLoop).inputs[0] = kNone;
  EXPECT_THAT(verify(b_.graph), HasSubstr("nothing ends it"));
}

TEST_F(ControlRules, AnIterationWithoutASymbolIsSeen) {
  Graph& body = *find(OpKind::kLoop).bodies[0];
  body.value(body.inputs[0]).elements.reset();
  EXPECT_THAT(verify(b_.graph), HasSubstr("its iteration is no symbol"));
}

TEST_F(ControlRules, WhatIsBrokenInABodyIsSeen) {
  Graph& body = *find(OpKind::kIf).bodies[1];
  body.node(body.order()[0]).program.clear();
  EXPECT_THAT(verify(b_.graph), HasSubstr("body: node 0 'm'"));
}

}  // namespace
}  // namespace planwright::ir
