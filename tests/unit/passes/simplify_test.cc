// remove_dead_code, fold_constants, share_subexpressions, simplify_programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/types/error.h"
#include "tests/support/pass_check.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaProgram;
using ir::ValueId;
using planwright::testing::after_pass;
using planwright::testing::bytes_of;
using planwright::testing::GraphBuilder;
using planwright::testing::random_tensor;
using ::testing::HasSubstr;

std::string numbered(const char* name, int64_t number) { return std::string(name).append(std::to_string(number)); }

TEST(RemoveDeadCode, NodesThatNoOutputNeedsGo) {
  GraphBuilder b;
  const ValueId x = b.input("x", {4});
  const ValueId y = b.relu("y", x);
  b.relu("dead", b.relu("before_dead", y));
  b.output(y);
  EXPECT_EQ(after_pass(remove_dead_code, b.graph, {random_tensor({4}, 1)}),
            "  %y: fp32[4] = Pointwise(%x) [max(in0, 0)]  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST(RemoveDeadCode, OptionalOutputsNobodyReadsGo) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 3, 4});
  ir::Node& node = b.node(OpKind::kLayerNorm, "y", {x}, LayerNormParams{2, 0, 1e-5f});
  for (const char* name : {"mean", "deviation"}) {
    const ValueId id = b.graph.add_value(name, DType::kF32, {2, 3, 1}).id;
    b.graph.value(id).producer = node.id;
    node.outputs.push_back(id);
  }
  b.output(node.outputs[0]);
  EXPECT_THAT(after_pass(remove_dead_code, b.graph, {random_tensor({2, 3, 4}, 1)}),
              HasSubstr("  %y: fp32[2, 3, 4] = LayerNorm(%x)"));
}

TEST(RemoveDeadCode, ConstantsNobodyReadsGiveTheirMemoryBack) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2});
  const ValueId unread = b.constant("unread", {2}, {1, 2}), read = b.constant("read", {2}, {1, 2});
  b.output(b.binary(PwOp::kAdd, "y", x, read));
  EXPECT_FALSE(remove_dead_code(b.graph));
  EXPECT_FALSE(b.graph.value(unread).is_constant());
  EXPECT_TRUE(b.graph.value(read).is_constant());
}

TEST(FoldConstants, NodesOnConstantsRunNow) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2});
  const ValueId sum = b.binary(PwOp::kAdd, "sum", b.constant("a", {2}, {1, 2}), b.constant("b", {2}, {10, 20}));
  b.output(b.binary(PwOp::kMul, "y", x, sum));
  EXPECT_EQ(after_pass(fold_constants, b.graph, {random_tensor({2}, 1)}),
            "  %y: fp32[2] = Pointwise(%x, %sum) [mul(in0, in1)]  \"y\"\n"
            "  output %y as \"y\"\n");
  EXPECT_THAT(print(b.graph), HasSubstr("const %sum: fp32[2] = {11, 22}"));
}

TEST(FoldConstants, ShapesThatAreSymbolsAreNotFolded) {
  GraphBuilder b;
  const ir::Dim n = b.symbol("n", 1, 8);
  b.input("x", {n});
  const ir::Shape dims{1};
  b.node(OpKind::kShapeValues, "shape", {}, ShapeValuesParams{1}, &dims, DType::kI64).scalars = {n};
  b.output(b.graph.value_count() - 1);
  EXPECT_EQ(after_pass(fold_constants, b.graph, {random_tensor({3}, 1)}), "unchanged");
}

TEST(FoldConstants, WhatWouldExplodeIsNotFolded) {
  GraphBuilder b;
  b.input("x", {1});
  b.output(b.add(OpKind::kExpand, "huge", {b.constant("c", {1}, {3})}, NoParams{}, {1 << 19}));
  EXPECT_EQ(after_pass(fold_constants, b.graph, {random_tensor({1}, 1)}), "unchanged");

  GraphBuilder chain;  // each node but four times what it reads
  ValueId y = chain.weights("c", {1 << 16});
  for (int64_t i = 1; i <= 4; ++i) {
    y = chain.add(OpKind::kTile, numbered("tile", i), {y}, NoParams{}, {int64_t{1} << (16 + 2 * i)});
  }
  chain.output(y);
  EXPECT_FALSE(fold_constants(chain.graph));

  GraphBuilder overflow;
  const ir::Shape dims{int64_t{1} << 40, int64_t{1} << 40};
  overflow.node(OpKind::kFill, "fill", {}, FillParams{0}, &dims);
  overflow.output(overflow.graph.value_count() - 1);
  EXPECT_FALSE(fold_constants(overflow.graph));
}

TEST(FoldConstants, AConstantIndexOutOfRangeIsTheModelsFault) {
  GraphBuilder b;
  b.output(
      b.add(OpKind::kGather, "pick", {b.constant("c", {2}, {1, 2}), b.constant_int("i", {1}, {7})}, GatherParams{0}));
  try {
    fold_constants(b.graph);
    ADD_FAILURE() << "index 7 of 2 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalid);
    EXPECT_THAT(error.what(), HasSubstr("pick (Gather)"));
  }
}

TEST(ShareSubexpressions, EqualNodesAreOne) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2});
  const ValueId y = b.scalar(PwOp::kAdd, "y", x, 1), z = b.scalar(PwOp::kAdd, "z", x, 1);
  const ValueId other = b.scalar(PwOp::kAdd, "other", x, 2);
  b.output(b.binary(PwOp::kMul, "yz", y, z));
  b.output(other);
  b.output(z);
  EXPECT_EQ(after_pass(share_subexpressions, b.graph, {random_tensor({2}, 1)}),
            "  %y: fp32[2] = Pointwise(%x) [add(in0, 1)]  \"y\"+\"z\"\n"
            "  %other: fp32[2] = Pointwise(%x) [add(in0, 2)]  \"other\"\n"
            "  %yz: fp32[2] = Pointwise(%y, %y) [mul(in0, in1)]  \"yz\"\n"
            "  output %yz as \"yz\"\n"
            "  output %other as \"other\"\n"
            "  output %y as \"z\"\n");
}

TEST(ShareSubexpressions, EqualConstantsAreOne) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 2});
  const ValueId y = b.binary(PwOp::kAdd, "y", x, b.constant("a", {2}, {1, 2}));
  const ValueId z = b.binary(PwOp::kMul, "z", x, b.constant("b", {2}, {1, 2}));
  const ValueId w = b.binary(PwOp::kMul, "w", x, b.constant("c", {2, 1}, {1, 2}));
  b.output(y);
  b.output(z);
  b.output(w);
  EXPECT_THAT(after_pass(share_subexpressions, b.graph, {random_tensor({2, 2}, 1)}),
              ::testing::AllOf(HasSubstr("%z: fp32[2, 2] = Pointwise(%x, %a)"), HasSubstr("Pointwise(%x, %c)")));
}

// The program that simplify_programs makes of `body` on one operand.
std::string simplified(const GraphBuilder::Body& body) {
  GraphBuilder b;
  const ValueId x = b.input("x", {64});
  b.output(b.pointwise("y", {x}, body));
  const std::string text = after_pass(simplify_programs, b.graph, {random_tensor({64}, 1, 0.5f, 2)});
  if (text == "unchanged") return text;
  const size_t begin = text.find('['), open = text.find('[', begin + 1);
  return text.substr(open + 1, text.rfind(']') - open - 1);
}

TEST(SimplifyPrograms, OperationsThatDoNothingGo) {
  const auto with = [](PwOp op, double value) {
    return simplified(
        [=](SsaProgram& p, const auto& in) { return p.unary(PwOp::kExp, p.binary(op, in[0], p.constant(value))); });
  };
  EXPECT_EQ(with(PwOp::kAdd, 0), "exp(in0)");
  EXPECT_EQ(with(PwOp::kSub, 0), "exp(in0)");
  EXPECT_EQ(with(PwOp::kMul, 1), "exp(in0)");
  EXPECT_EQ(with(PwOp::kDiv, 1), "exp(in0)");
  EXPECT_EQ(with(PwOp::kMax, -INFINITY), "exp(in0)");
  EXPECT_EQ(with(PwOp::kMin, INFINITY), "exp(in0)");
  EXPECT_EQ(with(PwOp::kAdd, 1), "unchanged");
}

TEST(SimplifyPrograms, DearOperationsBecomeCheapOnes) {
  const auto with = [](PwOp op, double value) {
    return simplified([=](SsaProgram& p, const auto& in) { return p.binary(op, in[0], p.constant(value)); });
  };
  EXPECT_EQ(with(PwOp::kPow, 2), "mul(in0, in0)");
  EXPECT_EQ(with(PwOp::kPow, 0.5), "sqrt(in0)");
  EXPECT_EQ(with(PwOp::kPow, -0.5), "reciprocal(sqrt(in0))");
  EXPECT_EQ(with(PwOp::kPow, 2.5), "unchanged");
  EXPECT_EQ(with(PwOp::kDiv, 8), "mul(in0, 0.125)");
  EXPECT_EQ(with(PwOp::kDiv, 6), "unchanged");  // 1/6 is not exact
  EXPECT_EQ(with(PwOp::kMul, -1), "neg(in0)");
}

TEST(SimplifyPrograms, ConstantsAreComputedAndStandSecond) {
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              const PwValue two = p.binary(PwOp::kAdd, p.constant(1), p.constant(1));
              return p.binary(PwOp::kMul, two, in[0]);
            }),
            "mul(in0, 2)");
}

TEST(SimplifyPrograms, BoundsJoin) {
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              const PwValue inner = p.binary(PwOp::kMax, in[0], p.constant(0));
              return p.binary(PwOp::kMax, p.constant(1), inner);
            }),
            "max(in0, 1)");
}

TEST(SimplifyPrograms, NarrowingWhatIsNarrowGoes) {
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              const PwValue less = p.narrow(p.binary(PwOp::kLess, in[0], p.constant(1)), DType::kBool);
              return p.ternary(PwOp::kSelect, less, p.narrow(in[0], DType::kF32), p.constant(7));
            }),
            "select(less(in0, 1), in0, 7)");
}

TEST(SimplifyPrograms, CastsThereAndBackGo) {
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              return p.unary(PwOp::kExp, p.convert(p.convert(in[0], PwClass::kDouble), PwClass::kFloat));
            }),
            "exp(in0)");
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              return p.unary(PwOp::kExp, p.convert(p.convert(in[0], PwClass::kInt), PwClass::kFloat));
            }),
            "unchanged");
}

TEST(SimplifyPrograms, ProductsWithConstantsJoin) {
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {
              const PwValue sixth = p.binary(PwOp::kDiv, in[0], p.constant(6));
              return p.binary(PwOp::kMul, p.binary(PwOp::kMul, sixth, p.constant(3)), p.constant(0.5));
            }),
            "mul(in0, 0.25)");
  EXPECT_EQ(simplified([](SsaProgram& p, const auto& in) {  // 1e30 twice would be infinite
              return p.binary(PwOp::kMul, p.binary(PwOp::kMul, in[0], p.constant(1e30f)), p.constant(1e-30f));
            }),
            "unchanged");
}

TEST(SimplifyPrograms, OperandsThatAreOneNumberBecomeThatNumber) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 3});
  b.output(b.pointwise(
      "y", {b.constant("half", {1, 1}, {0.5f}), x, b.constant("c", {3}, {1, 2, 3})},
      [](SsaProgram& p, const auto& in) { return p.binary(PwOp::kAdd, p.binary(PwOp::kMul, in[0], in[1]), in[2]); }));
  EXPECT_EQ(after_pass(simplify_programs, b.graph, {random_tensor({2, 3}, 1)}),
            "  %y: fp32[2, 3] = Pointwise(%x, %c) [add(mul(in0, 0.5), in1)]  \"y\"\n"
            "  output %y as \"y\"\n");
}

TEST(SimplifyPrograms, IntegerOperandsBecomeImmediates) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2}, DType::kI64);
  ir::Node& node = b.node(OpKind::kPointwise, "y", {x, b.constant_int("c", {}, {-3})}, NoParams{});
  SsaProgram program;
  program.store(program.binary(PwOp::kAdd, program.load(0, PwClass::kInt), program.load(1, PwClass::kInt)));
  node.program = *program.to_program();
  b.graph.value(node.outputs[0]).dtype = DType::kI64;
  b.output(node.outputs[0]);
  EXPECT_THAT(after_pass(simplify_programs, b.graph, {{DType::kI64, {2}, bytes_of<int64_t>({5, -9})}}),
              HasSubstr("Pointwise(%x) [add.i(in0.i, -3.i)]"));
}

TEST(SimplifyPrograms, AnEpilogueThatDoesNothingGoes) {
  GraphBuilder b;
  const ValueId x = b.input("x", {2, 3});
  ir::Node& node = b.node(OpKind::kMatMul, "y", {x, b.weights("w", {3, 4})}, NoParams{});
  SsaProgram program;
  program.store(program.binary(PwOp::kAdd, program.accumulator(), program.load(0)));
  node.program = *program.to_program();
  node.inputs.push_back(b.constant("zero", {4}, {0, 0, 0, 0}));
  b.output(node.outputs[0]);
  EXPECT_EQ(after_pass(simplify_programs, b.graph, {random_tensor({2, 3}, 1)}),
            "  %y: fp32[2, 4] = MatMul(%x, %w)  \"y\"\n"
            "  output %y as \"y\"\n");
}

}  // namespace
}  // namespace planwright::builder
