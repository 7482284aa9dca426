// Loop and If: which bodies run, how often, and what an iteration sees of the one before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/control_plan.h"
#include "tests/support/loaded.h"

namespace planwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::Loaded;

class Control : public testing::Test {
 protected:
  explicit Control(tests::PlanBuilder builder = tests::control_plan()) : loaded_(builder.plan) {
    loaded_.bind("x", x_);
    loaded_.bind("trips", trips_);
    loaded_.bind("keep", keep_);
    loaded_.bind("y", y_);
    loaded_.bind("rows", rows_);
  }

  Loaded loaded_;
  std::vector<float> x_ = {1, -2, 3, -4}, y_ = std::vector<float>(4), rows_ = std::vector<float>(12);
  std::vector<int64_t> trips_ = {3};
  std::vector<uint8_t> keep_ = {1};
};

TEST_F(Control, AnIterationBeginsWhereTheOneBeforeItEnded) {
  ASSERT_EQ(pw_context_run(loaded_.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y_, ElementsAre(8, -16, 24, -32));
  EXPECT_THAT(rows_, ElementsAre(2, -4, 6, -8, 4, -8, 12, -16, 8, -16, 24, -32));
}

TEST_F(Control, AnIfTakesTheBranchOfEachRunsCondition) {
  for (const bool keep : {false, true, true, false}) {
    keep_[0] = keep ? 1 : 0;
    ASSERT_EQ(pw_context_run(loaded_.context()), PW_OK) << pw_last_error();
    EXPECT_THAT(y_, ElementsAre(8, keep ? -16 : 0, 24, keep ? -32 : 0));
    EXPECT_THAT(rows_,
                ElementsAre(2, -4, 6, -8, 4, keep ? -8 : 0, 12, keep ? -16 : 0, 8, keep ? -16 : 0, 24, keep ? -32 : 0));
  }
}

TEST_F(Control, ALoopRunsAsOftenAsEachRunsTripCountSays) {
  for (const int64_t trips : {2, 0, 3, 1, -1, 2}) {
    trips_[0] = trips;
    ASSERT_EQ(pw_context_run(loaded_.context()), PW_OK) << pw_last_error();
    const float factor = trips < 0 ? 1 : static_cast<float>(1 << trips);
    EXPECT_THAT(y_, ElementsAre(factor, -2 * factor, 3 * factor, -4 * factor));
  }
}

// An engine that says less than its loop does must not write past its buffers.
TEST_F(Control, AnIterationPastItsStorageIsRefused) {
  trips_[0] = 4;
  EXPECT_EQ(pw_context_run(loaded_.context()), PW_CORRUPT);
  EXPECT_THAT(pw_last_error(), HasSubstr("tensor row ends at byte 64 of a storage of 48"));
  trips_[0] = 3;
  ASSERT_EQ(pw_context_run(loaded_.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y_, ElementsAre(8, -16, 24, -32));
}

TEST_F(Control, ReportsCountTheProgramsOwnSteps) {
  EXPECT_EQ(pw_engine_step_count(loaded_.engine(), 0), 4u);
  pw_step_info info;
  ASSERT_EQ(pw_engine_step(loaded_.engine(), 0, 1, &info), PW_OK);
  EXPECT_STREQ(info.op, "Loop");
  EXPECT_STREQ(info.tactic, "control_loop");
  EXPECT_EQ(pw_engine_step(loaded_.engine(), 0, 4, &info), PW_INVALID);
}

// While `keep` holds, which the body sets to whether iteration 1 is yet to come.
TEST(ControlWhile, ALoopEndsWithItsCondition) {
  tests::PlanBuilder b = tests::control_plan();
  planfmt::StepModel& loop = b.program().steps[1];
  const uint32_t one = b.constant(1);
  const int32_t goes_on = b.dense(b.arena(1), DType::kBool, {one}, "goes_on");
  planfmt::StepModel first = b.program().steps[0];
  first.inputs = {2};  // keep
  first.outputs = {goes_on};
  std::vector<PwInstr> program(5);
  for (PwInstr& instr : program) instr.type = PwClass::kInt;
  program[0].op = PwOp::kLoad;
  program[1].op = PwOp::kConst;
  program[1].dst = 1;
  program[1].imm_i = 1;
  program[2].op = PwOp::kLess;
  program[2].b = 1;
  program[2].dst = 2;
  program[3].op = PwOp::kConvert;
  program[3].type = PwClass::kUint;
  program[3].from = PwClass::kInt;
  program[3].a = 2;
  program[3].dst = 3;
  program[4].op = PwOp::kStore;
  program[4].type = PwClass::kUint;
  program[4].a = 3;
  planfmt::StepModel test = b.program().bodies[0][0];
  test.inputs = loop.outputs;
  test.outputs = {goes_on};
  test.program = tests::bytes_of(program);
  test.name = "test";
  loop.inputs = {-1, goes_on};
  b.program().bodies[0].push_back(test);
  b.program().steps.insert(b.program().steps.begin(), first);

  Loaded loaded(b.plan);
  std::vector<float> x = {1, -2, 3, -4}, y(4), rows(12);
  std::vector<int64_t> trips = {0};
  std::vector<uint8_t> keep = {1};
  loaded.bind("x", x);
  loaded.bind("trips", trips);
  loaded.bind("keep", keep);
  loaded.bind("y", y);
  loaded.bind("rows", rows);
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y, ElementsAre(4, -8, 12, -16));  // iterations 0 and 1
  keep[0] = 0;
  ASSERT_EQ(pw_context_run(loaded.context()), PW_OK) << pw_last_error();
  EXPECT_THAT(y, ElementsAre(1, -2, 3, -4));
}

}  // namespace
}  // namespace planwright
