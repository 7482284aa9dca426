#include "builder/ir/program_ssa.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::ir {
namespace {

TEST(SsaProgram, EqualInstructionsAreOneValue) {
  SsaProgram program;
  const PwValue x = program.load(0);
  EXPECT_EQ(program.load(0), x);
  EXPECT_EQ(program.unary(PwOp::kExp, x), program.unary(PwOp::kExp, x));
  EXPECT_NE(program.constant(0.0), program.constant(-0.0));
}

TEST(SsaProgram, DeadInstructionsAreLeftOut) {
  SsaProgram program;
  const PwValue x = program.load(0);
  program.unary(PwOp::kExp, program.load(1));
  program.store(x);
  EXPECT_EQ(program.to_program()->size(), 2u);
}

TEST(SsaProgram, RegistersAreUsedAgain) {
  SsaProgram program;
  PwValue x = program.load(0);
  for (int i = 0; i < 40; ++i) x = program.binary(PwOp::kAdd, x, program.constant(i));
  program.store(x);
  const auto emitted = program.to_program();
  ASSERT_TRUE(emitted.has_value());
  for (const PwInstr& instr : *emitted) EXPECT_LT(instr.dst, 2);
}

TEST(SsaProgram, AConversionNeverWritesOverWhatItReads) {
  SsaProgram program;
  program.store(program.convert(program.load(0), PwClass::kInt));
  const auto emitted = program.to_program();
  ASSERT_TRUE(emitted.has_value());
  for (const PwInstr& instr : *emitted) {
    EXPECT_TRUE(instr.op != PwOp::kConvert || instr.dst != instr.a);
  }
}

TEST(SsaProgram, LimitsAreKept) {
  SsaProgram wide;  // every load is needed at the end
  PwValue sum = -1;
  std::vector<PwValue> loads;
  for (int i = 0; i < kMaxPwRegisters + 1; ++i) loads.push_back(wide.unary(PwOp::kExp, wide.constant(i)));
  for (PwValue load : loads) sum = sum < 0 ? load : wide.binary(PwOp::kAdd, load, sum);
  for (PwValue load : loads) sum = wide.binary(PwOp::kMul, load, sum);
  wide.store(sum);
  EXPECT_FALSE(wide.to_program().has_value());

  SsaProgram deep;
  PwValue x = deep.load(0);
  for (int i = 0; i < kMaxPwInstructions; ++i) x = deep.unary(PwOp::kExp, x);
  deep.store(x);
  EXPECT_FALSE(deep.to_program().has_value());
}

// What a program of additions, multiplications and negations computes.
double run(const std::vector<PwInstr>& program, const std::array<double, 4>& inputs) {
  std::array<double, 256> r{};
  double stored = 0;
  for (const PwInstr& i : program) {
    switch (i.op) {
      case PwOp::kLoad: r[i.dst] = inputs[i.operand]; break;
      case PwOp::kConst: r[i.dst] = i.imm_f; break;
      case PwOp::kNeg: r[i.dst] = -r[i.a]; break;
      case PwOp::kAdd: r[i.dst] = r[i.a] + r[i.b]; break;
      case PwOp::kMul: r[i.dst] = r[i.a] * r[i.b]; break;
      case PwOp::kStore: stored = r[i.a]; break;
      default: ADD_FAILURE(); break;
    }
  }
  return stored;
}

TEST(SsaProgram, RandomProgramsComputeTheSameWithRegisters) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
    std::vector<double> values;
    std::vector<PwValue> names;
    SsaProgram program;
    const std::array<double, 4> inputs = {0.5, -1.25, 2, 0.75};
    for (size_t i = 0; i < 4; ++i) {
      names.push_back(program.load(static_cast<int>(i)));
      values.push_back(inputs[i]);
    }
    for (int step = 0; step < 20; ++step) {
      const size_t a = pick(names.size()), b = pick(names.size());
      const PwOp op = std::array{PwOp::kAdd, PwOp::kMul, PwOp::kNeg}[pick(3)];
      names.push_back(op == PwOp::kNeg ? program.unary(op, names[a]) : program.binary(op, names[a], names[b]));
      values.push_back(op == PwOp::kNeg   ? -values[a]
                       : op == PwOp::kAdd ? values[a] + values[b]
                                          : values[a] * values[b]);
    }
    program.store(names.back());
    const auto emitted = program.to_program();
    ASSERT_TRUE(emitted.has_value());
    EXPECT_EQ(run(*emitted, inputs), values.back());
    EXPECT_EQ(run(*SsaProgram(*emitted).to_program(), inputs), values.back());
  }
}

}  // namespace
}  // namespace planwright::ir
