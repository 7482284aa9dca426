// Which pointwise programs run as straight code.
#include "tactics/kernels/fast/pointwise_straight.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/kernel_harness.h"

namespace planwright {
namespace {

using testing::pw_compute;
using testing::pw_const;
using testing::pw_load;
using testing::pw_store;

bool match(const std::vector<PwInstr>& program, StraightProgram* straight) {
  return match_straight_program(program.data(), static_cast<int>(program.size()), straight);
}

TEST(StraightProgramTest, ResidualAdditionThenRelu) {
  StraightProgram straight;
  ASSERT_TRUE(match({pw_load(0, 1), pw_load(1, 0), pw_compute(PwOp::kAdd, 2, 0, 1), pw_const(3, 0),
                     pw_compute(PwOp::kMax, 0, 3, 2), pw_store(0, 0)},
                    &straight));
  EXPECT_EQ(straight.first, StraightOp::kAdd);
  EXPECT_EQ(straight.second, StraightOp::kNone);
  EXPECT_EQ(straight.operands[0], 1);
  EXPECT_EQ(straight.operands[1], 0);
  EXPECT_TRUE(straight.clamps);
  EXPECT_EQ(straight.low, 0.0f);
}

TEST(StraightProgramTest, ScaledThenAddedFromTheLeft) {
  StraightProgram straight;
  ASSERT_TRUE(match({pw_load(0, 0), pw_load(1, 1), pw_compute(PwOp::kMul, 2, 0, 1), pw_load(3, 2),
                     pw_compute(PwOp::kAdd, 4, 3, 2), pw_store(0, 4)},
                    &straight));
  EXPECT_EQ(straight.first, StraightOp::kMul);
  EXPECT_EQ(straight.second, StraightOp::kAdd);
  EXPECT_EQ(straight.operands[2], 2);
  EXPECT_FALSE(straight.clamps);
}

TEST(StraightProgramTest, SubtractionDoesNotSwap) {
  StraightProgram straight;
  const std::vector<PwInstr> program = {
      pw_load(0, 0), pw_load(1, 1), pw_compute(PwOp::kAdd, 2, 0, 1), pw_load(3, 2), pw_compute(PwOp::kSub, 4, 3, 2),
      pw_store(0, 4)};
  EXPECT_FALSE(match(program, &straight));
}

TEST(StraightProgramTest, LimitsOutOfOrderAreNoClamp) {
  StraightProgram straight;
  const auto clip = [](double least, double most, bool max_first) {
    const PwInstr low = pw_const(1, least), high = pw_const(2, most);
    return max_first ? std::vector<PwInstr>{pw_load(0, 0),
                                            low,
                                            high,
                                            pw_compute(PwOp::kMax, 3, 0, 1),
                                            pw_compute(PwOp::kMin, 4, 3, 2),
                                            pw_store(0, 4)}
                     : std::vector<PwInstr>{
                           pw_load(0, 0), low, high, pw_compute(PwOp::kMin, 3, 0, 2), pw_compute(PwOp::kMax, 4, 3, 1),
                           pw_store(0, 4)};
  };
  EXPECT_TRUE(match(clip(0, 6, true), &straight));
  EXPECT_TRUE(match(clip(0, 6, false), &straight));
  EXPECT_EQ(straight.high, 6.0f);
  EXPECT_FALSE(match(clip(6, 0, true), &straight));
  EXPECT_FALSE(match(clip(6, 0, false), &straight));
}

TEST(StraightProgramTest, AnythingElseIsInterpreted) {
  StraightProgram straight;
  EXPECT_FALSE(match({pw_load(0, 0), pw_compute(PwOp::kTanh, 1, 0), pw_store(0, 1)}, &straight));
  EXPECT_FALSE(match({pw_load(0, 0), pw_const(1, 2), pw_compute(PwOp::kMul, 2, 0, 1), pw_store(0, 2)}, &straight));
  EXPECT_FALSE(match({pw_const(0, 2), pw_store(0, 0)}, &straight));
  // Two products added.
  EXPECT_FALSE(match(
      {pw_load(0, 0), pw_load(1, 1), pw_compute(PwOp::kMul, 2, 0, 1), pw_compute(PwOp::kAdd, 3, 2, 2), pw_store(0, 3)},
      &straight));
}

}  // namespace
}  // namespace planwright
