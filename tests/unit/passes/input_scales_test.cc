#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InputScalesTest : public ::testing::Test, public GraphBuilder {
 protected:
  std::string folded(ValueId id) {
    output(id);
    return after_pass(fold_input_scales, graph, {random_tensor({2, 4, 5, 6}, 1)});
  }
  // exp(x) * 3 + shift
  ValueId activation(ValueId x, ValueId shift) {
    return pointwise("act", {x, shift}, [](SsaProgram& p, const auto& in) {
      return p.binary(PwOp::kAdd, p.binary(PwOp::kMul, p.unary(PwOp::kExp, in[0]), p.constant(3)), in[1]);
    });
  }

  ValueId x_ = input("x", {symbol("n", 1, 4), 4, 5, 6});
};

TEST_F(InputScalesTest, IntoAConvolutionWithoutPadding) {
  EXPECT_EQ(folded(conv("y", activation(x_, weights("shift", {4, 1, 1})), weights("w", {3, 4, 3, 3}))),
            "  %act: fp32[n, 4, 5, 6] = Pointwise(%x) [exp(in0)]  \"act\"\n"
            "  %y: fp32[n, 3, 3, 4] = Conv(%act, %w#2; %y/bias) {group=1 stride=1,1 [0, 0]} [add(acc, in0)]  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST_F(InputScalesTest, AShiftDoesNotGoIntoPadding) {
  EXPECT_EQ(folded(conv("y", activation(x_, weights("shift", {4, 1, 1})), weights("w", {3, 4, 3, 3}), 1)), "unchanged");
}

TEST_F(InputScalesTest, AScaleGoesIntoPadding) {
  const ValueId scaled = pointwise("act", {x_, weights("scale", {4, 1, 1})}, [](SsaProgram& p, const auto& in) {
    return p.binary(PwOp::kMul, p.unary(PwOp::kExp, in[0]), in[1]);
  });
  EXPECT_THAT(
      folded(conv("y", scaled, weights("w", {4, 2, 3, 3}), 1, 2)),
      AllOf(HasSubstr("Pointwise(%x) [exp(in0)]"), HasSubstr("Conv(%act, %w#2) {group=2 stride=1,1 [1, 1]}  \"y\"")));
}

TEST_F(InputScalesTest, IntoAMatrixAndItsBias) {
  const ValueId act = activation(x_, weights("shift", {6}));
  ir::Node& node = graph.node(graph.value(matmul("y", act, weights("w", {6, 7}))).producer);
  SsaProgram program;
  program.store(program.unary(PwOp::kTanh, program.binary(PwOp::kAdd, program.accumulator(), program.load(0))));
  node.program = *program.to_program();
  node.inputs.push_back(weights("b", {7}));
  EXPECT_THAT(folded(node.outputs[0]), HasSubstr("MatMul(%act, %w#2; %y/bias) [tanh(add(acc, in0))]"));
}

TEST_F(InputScalesTest, FromAnEpilogueBeforeAResidual) {
  const ValueId first = conv("first", x_, weights("v", {4, 4, 1, 1}));
  ir::Node& node = graph.node(graph.value(first).producer);
  SsaProgram program;
  program.store(program.binary(PwOp::kDiv, program.unary(PwOp::kExp, program.accumulator()), program.constant(6)));
  node.program = *program.to_program();
  const ValueId y = conv("y", first, weights("w", {4, 4, 1, 1}));
  ir::Node& second = graph.node(graph.value(y).producer);
  SsaProgram residual;
  residual.store(residual.binary(PwOp::kAdd, residual.load(0), residual.accumulator()));
  second.program = *residual.to_program();
  second.inputs.push_back(x_);
  EXPECT_THAT(folded(y), AllOf(HasSubstr("Conv(%x, %v) {group=1 stride=1,1 [0, 0]} [exp(acc)]"),
                               HasSubstr("Conv(%first, %w#2; %x) {group=1 stride=1,1 [0, 0]} [add(in0, acc)]")));
}

TEST_F(InputScalesTest, NotWhatIsReadElsewhere) {
  const ValueId act = activation(x_, weights("shift", {4, 1, 1}));
  output(act);
  EXPECT_EQ(folded(conv("y", act, weights("w", {3, 4, 1, 1}))), "unchanged");
}

TEST_F(InputScalesTest, NotWhatTheProgramNeedsItself) {
  const ValueId act = pointwise("act", {x_}, [](SsaProgram& p, const auto& in) {
    const ir::PwValue scaled = p.binary(PwOp::kMul, in[0], p.constant(3));
    return p.binary(PwOp::kMul, scaled, p.unary(PwOp::kSigmoid, scaled));
  });
  EXPECT_EQ(folded(conv("y", act, weights("w", {3, 4, 1, 1}))), "unchanged");
}

}  // namespace
}  // namespace planwright::builder
