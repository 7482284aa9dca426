#include "tactics/kernels/fast/epilogue_match.h"

#include <gtest/gtest.h>

#include "tests/support/contraction_cases.h"

namespace planwright::fast {
namespace {

using testing::pw_acc;
using testing::pw_compute;
using testing::pw_const;
using testing::pw_load;
using testing::pw_store;

bool match(const std::vector<PwInstr>& program, StraightEpilogue* epilogue) {
  return match_straight(program.data(), static_cast<int>(program.size()), epilogue);
}

TEST(EpilogueMatchTest, KnowsTheFrequentPrograms) {
  for (const testing::NamedEpilogue& named : testing::named_epilogues()) {
    StraightEpilogue epilogue;
    EXPECT_EQ(match(named.program, &epilogue), named.straight) << named.name;
  }
}

TEST(EpilogueMatchTest, TellsOperandsInTheOrderTheyAreAdded) {
  StraightEpilogue epilogue;
  ASSERT_TRUE(match({pw_acc(0), pw_load(1, 1), pw_compute(PwOp::kAdd, 2, 1, 0), pw_load(3, 0),
                     pw_compute(PwOp::kAdd, 2, 2, 3), pw_store(0, 2)},
                    &epilogue));
  EXPECT_EQ(epilogue.added[0], 1);
  EXPECT_EQ(epilogue.added[1], 0);
  EXPECT_EQ(epilogue.activation.function, TileFunction::kIdentity);
}

TEST(EpilogueMatchTest, ReadsTheConstants) {
  StraightEpilogue epilogue;
  // min(max(2 * x - 1, -3), 5) * 0.5
  ASSERT_TRUE(
      match({pw_acc(0), pw_const(1, 2), pw_compute(PwOp::kMul, 0, 0, 1), pw_const(1, 1),
             pw_compute(PwOp::kSub, 0, 0, 1), pw_const(1, -3), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 5),
             pw_compute(PwOp::kMin, 0, 0, 1), pw_const(1, 0.5), pw_compute(PwOp::kMul, 0, 0, 1), pw_store(0, 0)},
            &epilogue));
  EXPECT_EQ(epilogue.activation.function, TileFunction::kLine);
  EXPECT_EQ(epilogue.activation.alpha, 1.0f);
  EXPECT_EQ(epilogue.activation.beta, -0.5f);
  EXPECT_EQ(epilogue.activation.low, -1.5f);
  EXPECT_EQ(epilogue.activation.high, 2.5f);
}

// (x * min(max(x + 3, 0), 6)) * -2 + 0.5 is x * min(max(-2 * x - 6, -12), 0) + 0.5.
TEST(EpilogueMatchTest, FoldsWhatFollowsAHardSwish) {
  StraightEpilogue epilogue;
  ASSERT_TRUE(match(
      {pw_acc(0), pw_const(1, 3), pw_compute(PwOp::kAdd, 2, 0, 1), pw_const(1, 0), pw_compute(PwOp::kMax, 2, 2, 1),
       pw_const(1, 6), pw_compute(PwOp::kMin, 2, 2, 1), pw_compute(PwOp::kMul, 2, 0, 2), pw_const(1, -2),
       pw_compute(PwOp::kMul, 2, 2, 1), pw_const(1, 0.5), pw_compute(PwOp::kAdd, 2, 2, 1), pw_store(0, 2)},
      &epilogue));
  EXPECT_EQ(epilogue.activation.function, TileFunction::kHardSwish);
  EXPECT_EQ(epilogue.activation.alpha, -2.0f);
  EXPECT_EQ(epilogue.activation.beta, -6.0f);
  EXPECT_EQ(epilogue.activation.low, -12.0f);
  EXPECT_EQ(epilogue.activation.high, 0.0f);
  EXPECT_EQ(epilogue.activation.gamma, 0.5f);
}

// x * min(max(x + 3, 0), 6) * 1e38 * 6: folded into the bounds the factors would overflow, and all would be NaN.
TEST(EpilogueMatchTest, LeavesFactorsThatOverflowToTheInterpreter) {
  StraightEpilogue epilogue;
  for (const double factor : {1e38, -1e38}) {
    EXPECT_FALSE(match(
        {pw_acc(0), pw_const(1, 3), pw_compute(PwOp::kAdd, 2, 0, 1), pw_const(1, 0), pw_compute(PwOp::kMax, 2, 2, 1),
         pw_const(1, 6), pw_compute(PwOp::kMin, 2, 2, 1), pw_compute(PwOp::kMul, 2, 0, 2), pw_const(1, factor),
         pw_compute(PwOp::kMul, 2, 2, 1), pw_const(1, 6), pw_compute(PwOp::kMul, 2, 2, 1), pw_store(0, 2)},
        &epilogue));
  }
  // A factor that makes numbers of denormal ones is not the contraction's.
  EXPECT_FALSE(match({pw_acc(0), pw_const(1, 1e30), pw_compute(PwOp::kMul, 0, 0, 1), pw_store(0, 0)}, &epilogue));
  // What exporters write for no bound is one.
  EXPECT_TRUE(
      match({pw_acc(0), pw_const(1, 0), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 0x1.fffffep127),
             pw_compute(PwOp::kMin, 0, 0, 1), pw_const(1, 0.5), pw_compute(PwOp::kMul, 0, 0, 1), pw_store(0, 0)},
            &epilogue));
}

// max(min(x, 1), 2) is 2 whatever x is, min(max(x, 2), 1) is 1.
TEST(EpilogueMatchTest, ClipsWhoseBoundsCross) {
  StraightEpilogue epilogue;
  ASSERT_TRUE(match({pw_acc(0), pw_const(1, 1), pw_compute(PwOp::kMin, 0, 0, 1), pw_const(1, 2),
                     pw_compute(PwOp::kMax, 0, 0, 1), pw_store(0, 0)},
                    &epilogue));
  EXPECT_EQ(epilogue.activation.low, 2.0f);
  EXPECT_EQ(epilogue.activation.high, 2.0f);
  ASSERT_TRUE(match({pw_acc(0), pw_const(1, 2), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 1),
                     pw_compute(PwOp::kMin, 0, 0, 1), pw_store(0, 0)},
                    &epilogue));
  EXPECT_EQ(epilogue.activation.low, 1.0f);
  EXPECT_EQ(epilogue.activation.high, 1.0f);
}

TEST(EpilogueMatchTest, LeavesTheRestToTheInterpreter) {
  StraightEpilogue epilogue;
  // The accumulator twice.
  EXPECT_FALSE(match({pw_acc(0), pw_compute(PwOp::kAdd, 1, 0, 0), pw_store(0, 1)}, &epilogue));
  // acc * sigmoid(acc + bias): the two are not the same value.
  EXPECT_FALSE(match({pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kAdd, 2, 0, 1), pw_compute(PwOp::kSigmoid, 2, 2),
                      pw_compute(PwOp::kMul, 2, 0, 2), pw_store(0, 2)},
                     &epilogue));
  // A product with an operand.
  EXPECT_FALSE(match({pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kMul, 2, 0, 1), pw_store(0, 2)}, &epilogue));
  // Something added to a sigmoid's product.
  EXPECT_FALSE(match({pw_acc(0), pw_compute(PwOp::kSigmoid, 1, 0), pw_compute(PwOp::kMul, 1, 0, 1), pw_const(2, 1),
                      pw_compute(PwOp::kAdd, 1, 1, 2), pw_store(0, 1)},
                     &epilogue));
  // Three operands added.
  EXPECT_FALSE(match({pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kAdd, 0, 0, 1), pw_load(1, 1),
                      pw_compute(PwOp::kAdd, 0, 0, 1), pw_load(1, 2), pw_compute(PwOp::kAdd, 0, 0, 1), pw_store(0, 0)},
                     &epilogue));
  // NaN and infinite constants.
  EXPECT_FALSE(
      match({pw_acc(0), pw_const(1, __builtin_nan("")), pw_compute(PwOp::kMax, 0, 0, 1), pw_store(0, 0)}, &epilogue));
  EXPECT_FALSE(
      match({pw_acc(0), pw_const(1, __builtin_inf()), pw_compute(PwOp::kMul, 0, 0, 1), pw_store(0, 0)}, &epilogue));
  // A constant stored as it is.
  EXPECT_FALSE(match({pw_const(0, 1), pw_store(0, 0)}, &epilogue));
}

// x^(2^90), which as a product of factors would take longer than the universe has.
TEST(EpilogueMatchTest, SquaresOfSquaresEnd) {
  std::vector<PwInstr> program = {pw_const(0, 1.0), pw_acc(1)};
  for (int i = 0; i < 90; ++i) program.push_back(pw_compute(PwOp::kMul, 0, 0, 0));
  program.push_back(pw_compute(PwOp::kMul, 0, 0, 1));
  program.push_back(pw_store(0, 0));
  StraightEpilogue epilogue;
  EXPECT_FALSE(match(program, &epilogue));
}

}  // namespace
}  // namespace planwright::fast
