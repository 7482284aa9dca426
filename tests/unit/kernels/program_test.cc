#include "tactics/kernels/program.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::pw_acc;
using testing::pw_compute;
using testing::pw_const;
using testing::pw_load;
using testing::pw_store;

bool is_valid(const std::vector<PwInstr>& program, int operands = 2, int outputs = 1, bool has_accumulator = false) {
  return is_valid_program(program.data(), static_cast<int>(program.size()), operands, outputs, has_accumulator);
}

PwInstr with_operand(PwInstr instr, int operand) {
  instr.operand = static_cast<uint8_t>(operand);
  return instr;
}

TEST(Program, EveryOperationHasANameOfItsOwn) {
  std::set<std::string> names;
  int count = 0;
  for (int code = 0; code < 256; ++code) {
    const PwOp op = static_cast<PwOp>(code);
    if (!planwright::is_valid(op)) {
      EXPECT_STREQ(name_of(op), "?") << code;
      continue;
    }
    EXPECT_STRNE(name_of(op), "?") << code;
    names.insert(name_of(op));
    ++count;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(count));
}

TEST(Program, TakesWellFormedPrograms) {
  EXPECT_TRUE(is_valid({pw_load(0, 0), pw_load(1, 1), pw_compute(PwOp::kAdd, 0, 0, 1), pw_store(0, 0)}));
  EXPECT_TRUE(is_valid({pw_acc(3), pw_store(0, 3)}, 0, 1, true));
  EXPECT_TRUE(is_valid({pw_const(0, 1), pw_store(1, 0), pw_store(0, 0)}, 0, 2));
}

TEST(Program, RefusesRegistersReadBeforeTheyAreWritten) {
  EXPECT_FALSE(is_valid({pw_store(0, 0)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_compute(PwOp::kAdd, 1, 0, 1), pw_store(0, 1)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_compute(PwOp::kSelect, 1, 0, 0, 5), pw_store(0, 1)}));
}

TEST(Program, RefusesRegistersPastTheLast) {
  EXPECT_TRUE(is_valid({pw_load(kMaxPwRegisters - 1, 0), pw_store(0, kMaxPwRegisters - 1)}));
  EXPECT_FALSE(is_valid({pw_load(kMaxPwRegisters, 0), pw_store(0, kMaxPwRegisters)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 255)}));
}

TEST(Program, RefusesARegisterUsedInAnotherClass) {
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 0, PwClass::kInt)}));
  PwInstr convert = pw_compute(PwOp::kConvert, 1, 0, 0, 0, PwClass::kInt);
  convert.from = PwClass::kFloat;
  EXPECT_TRUE(is_valid({pw_load(0, 0), convert, pw_store(0, 1, PwClass::kInt)}));
  convert.from = PwClass::kDouble;
  EXPECT_FALSE(is_valid({pw_load(0, 0), convert, pw_store(0, 1, PwClass::kInt)}));
}

TEST(Program, RefusesOperandsAndOutputsPastTheLast) {
  EXPECT_FALSE(is_valid({pw_load(0, 2), pw_store(0, 0)}, 2));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(1, 0)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 0)}, kMaxPwOperands + 1));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 0)}, 1, 0));
}

TEST(Program, EachOutputIsStoredExactlyOnce) {
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 0), pw_store(0, 0)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), pw_store(0, 0)}, 2, 2));
  EXPECT_FALSE(is_valid({pw_load(0, 0)}));
}

TEST(Program, OnlyEpiloguesReadTheAccumulator) {
  EXPECT_FALSE(is_valid({pw_acc(0), pw_store(0, 0)}));
  EXPECT_TRUE(is_valid({pw_acc(0), pw_store(0, 0)}, 0, 1, true));
}

TEST(Program, RefusesUnknownCodesAndClasses) {
  for (const int code : {6, 15, 44, 63, 85, 127, 130, 255}) {
    EXPECT_FALSE(is_valid({pw_load(0, 0), pw_compute(static_cast<PwOp>(code), 0, 0, 0, 0), pw_store(0, 0)})) << code;
  }
  EXPECT_FALSE(is_valid({pw_load(0, 0, static_cast<PwClass>(4)), pw_store(0, 0, static_cast<PwClass>(4))}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), with_operand(pw_compute(PwOp::kNarrow, 0, 0), kDTypeCount), pw_store(0, 0)}));
  EXPECT_FALSE(is_valid({pw_load(0, 0), with_operand(pw_compute(PwOp::kIsInf, 0, 0), 4), pw_store(0, 0)}));
}

TEST(Program, OperationsHaveTheirClasses) {
  const auto unary = [](PwOp op, PwClass type) {
    return is_valid({pw_load(0, 0, type), pw_compute(op, 0, 0, 0, 0, type), pw_store(0, 0, type)});
  };
  EXPECT_TRUE(unary(PwOp::kExp, PwClass::kDouble));
  EXPECT_FALSE(unary(PwOp::kExp, PwClass::kInt));
  EXPECT_TRUE(unary(PwOp::kBitNot, PwClass::kUint));
  EXPECT_FALSE(unary(PwOp::kBitNot, PwClass::kFloat));
  EXPECT_TRUE(unary(PwOp::kNeg, PwClass::kInt));
}

TEST(Program, RefusesAnEmptyProgramAndOneTooLong) {
  EXPECT_FALSE(is_valid({}));
  std::vector<PwInstr> program(kMaxPwInstructions - 1, pw_load(0, 0));
  program.push_back(pw_store(0, 0));
  EXPECT_TRUE(is_valid(program));
  program.insert(program.begin(), pw_load(0, 0));
  EXPECT_FALSE(is_valid(program));
}

}  // namespace
}  // namespace planwright
