// Bodies that lie: regions, conditions, what is known where, what is alive when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "planwright/planwright.h"
#include "tests/support/control_plan.h"
#include "tests/support/loaded.h"

namespace planwright {
namespace {

using planfmt::PlanModel;
using planfmt::StepModel;
using testing::HasSubstr;

struct Row {
  const char* name;
  int status;
  const char* message;  // part of it
  std::function<void(PlanModel&)> tamper;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

planfmt::ProgramModel& program(PlanModel& plan) { return plan.programs[0]; }
StepModel& loop(PlanModel& plan) { return program(plan).steps[1]; }
StepModel& if_step(PlanModel& plan) { return program(plan).bodies[0][2]; }
int32_t tensor(PlanModel& plan, const char* name) {
  for (size_t i = 0; i < program(plan).tensors.size(); ++i) {
    if (program(plan).tensors[i].name == name) return static_cast<int32_t>(i);
  }
  throw std::logic_error(name);
}
planfmt::StorageModel& storage(PlanModel& plan, const char* of_tensor) {
  return program(plan).storages[program(plan).tensors[static_cast<size_t>(tensor(plan, of_tensor))].storage];
}

const Row kRows[] = {
    // ---- Regions
    {"RegionAbsent", PW_CORRUPT, "region 9, which is not there", [](PlanModel& p) { loop(p).regions = {9}; }},
    {"RegionOfItself", PW_CORRUPT, "not after its own",
     [](PlanModel& p) {
       if_step(p).regions = {2, 1};
     }},
    {"RegionOfTheProgram", PW_CORRUPT, "not after its own", [](PlanModel& p) { loop(p).regions = {0}; }},
    {"RegionTwice", PW_CORRUPT, "another's",
     [](PlanModel& p) {
       if_step(p).regions = {2, 2};
     }},
    {"RegionOfTwoSteps", PW_CORRUPT, "another's", [](PlanModel& p) { program(p).steps.push_back(loop(p)); }},
    {"RegionOfNoStep", PW_CORRUPT, "region 4 is the body of no step",
     [](PlanModel& p) { program(p).bodies.emplace_back(); }},
    {"ThreeBodies", PW_INCOMPATIBLE, "has 3 bodies",
     [](PlanModel& p) {
       program(p).bodies.emplace_back();
       if_step(p).regions = {2, 3, 4};
     }},
    {"BodiesWithoutEnd", PW_CORRUPT, "nested more than 16 deep",
     [](PlanModel& p) {
       for (uint32_t i = 0; i < 20; ++i) {
         StepModel inner = if_step(p);
         inner.regions = {static_cast<uint32_t>(program(p).bodies.size()) + 1};
         program(p).bodies[i == 0 ? 2 : program(p).bodies.size() - 1].push_back(inner);
         program(p).bodies.emplace_back();
       }
     }},
    {"LoopOfTwoBodies", PW_CORRUPT, "the step has 2 bodies, Loop has 1",
     [](PlanModel& p) {
       StepModel row = program(p).bodies[0][1];
       row.inputs = {tensor(p, "x")};
       program(p).bodies.push_back({row});
       loop(p).regions = {1, 4};
     }},
    {"IfOfOneBody", PW_CORRUPT, "the step has 1 bodies, If has 2",
     [](PlanModel& p) {
       if_step(p).regions = {2};
       program(p).bodies.pop_back();
     }},
    {"BodyOfAKernel", PW_CORRUPT, "the step has 1 bodies, Copy has 0",
     [](PlanModel& p) {
       program(p).bodies.emplace_back();
       program(p).steps[0].regions = {4};
     }},
    {"IfWithoutBodies", PW_CORRUPT, "the step has 0 bodies, If has 2",
     [](PlanModel& p) {
       if_step(p).regions.clear();
       program(p).bodies.resize(1);
     }},

    // ---- Operands
    {"ConditionAbsent", PW_CORRUPT, "an operand is not one bool", [](PlanModel& p) { if_step(p).inputs = {-1}; }},
    {"ConditionOfAnotherType", PW_CORRUPT, "an operand is not one bool",
     [](PlanModel& p) { if_step(p).inputs = {tensor(p, "trips")}; }},
    {"ConditionOfFour", PW_CORRUPT, "tensor keep ends at byte 4",
     [](PlanModel& p) { program(p).tensors[static_cast<size_t>(tensor(p, "keep"))].dims = p.bindings[0].dims; }},
    {"IfOfTwoInputs", PW_CORRUPT, "a step has 1 inputs and 0 outputs",
     [](PlanModel& p) {
       if_step(p).inputs.push_back(if_step(p).inputs[0]);
       if_step(p).core_inputs = 2;
     }},
    {"LoopWithoutEnd", PW_CORRUPT, "neither a trip count nor a condition",
     [](PlanModel& p) {
       loop(p).inputs = {-1, -1};
     }},
    {"TripCountOfAnotherType", PW_CORRUPT, "an operand is not one int64",
     [](PlanModel& p) {
       loop(p).inputs = {tensor(p, "keep"), -1};
     }},
    {"LoopConditionOfAnotherType", PW_CORRUPT, "an operand is not one bool",
     [](PlanModel& p) {
       loop(p).inputs = {-1, tensor(p, "trips")};
     }},
    {"IterationOfAnotherType", PW_CORRUPT, "an operand is not one int64",
     [](PlanModel& p) { program(p).tensors[static_cast<size_t>(tensor(p, "iteration"))].dtype = DType::kI32; }},
    {"IterationAbsent", PW_CORRUPT, "", [](PlanModel& p) { loop(p).outputs = {-1}; }},

    // ---- What is known
    {"IterationOutsideItsLoop", PW_CORRUPT, "needs a result that is not there",
     [](PlanModel& p) { program(p).steps[2].inputs = {tensor(p, "row")}; }},
    {"OutputOfTheIterationsSize", PW_CORRUPT, "depend on what a step's body makes known",
     [](PlanModel& p) {
       p.expressions.push_back({planfmt::ExprOp::kSymbol, 0, 0, 0});
       p.bindings[3].dims = {static_cast<uint32_t>(p.expressions.size()) - 1};
       program(p).bodies[0][1].outputs = {tensor(p, "y")};
       program(p).steps[2].outputs = {tensor(p, "state")};
     }},

    // ---- Lifetimes
    {"ReadsWhatTheOtherBranchWrote", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) {
       program(p).bodies[1][0].outputs = {tensor(p, "y")};
       program(p).bodies[2][0].inputs = {tensor(p, "y")};
     }},
    {"ReadsWhatOneBranchWrote", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) {
       program(p).bodies[1][0].outputs = {tensor(p, "y")};
       program(p).steps[2].inputs = {tensor(p, "y")};
       program(p).steps[2].outputs = {tensor(p, "state")};
     }},
    {"OutputOfOneBranch", PW_CORRUPT, "no step writes output y",
     [](PlanModel& p) {
       program(p).bodies[1][0].outputs = {tensor(p, "y")};
       program(p).steps[2].outputs = {tensor(p, "state")};
     }},
    {"ReadsTheLastIteration", PW_CORRUPT, "which no step before it wrote",
     [](PlanModel& p) { std::swap(program(p).bodies[0][0], program(p).bodies[0][1]); }},
    {"StateSharesMemoryWithTheBody", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { storage(p, "next").offset = storage(p, "state").offset; }},
    {"StackSharesMemoryWithTheBody", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { storage(p, "next").offset = storage(p, "stack").offset; }},
    {"IterationSharesMemoryWithTheBody", PW_CORRUPT, "overlaps another that is alive",
     [](PlanModel& p) { storage(p, "next").offset = storage(p, "iteration").offset; }},
};

class HostileControl : public testing::TestWithParam<Row> {};

TEST_P(HostileControl, IsRefused) {
  tests::PlanBuilder builder = tests::control_plan();
  GetParam().tamper(builder.plan);
  tests::Aligned bytes(tests::engine_bytes(builder.plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), GetParam().status) << pw_last_error();
  EXPECT_THAT(pw_last_error(), HasSubstr(GetParam().message));
  EXPECT_EQ(engine, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Plan, HostileControl, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

TEST(HostileControlBase, ThePlanItselfOpens) {
  tests::Aligned bytes(tests::engine_bytes(tests::control_plan().plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK) << pw_last_error();
  pw_engine_close(engine);
}

// What the two branches write is never there at once.
TEST(HostileControlBase, BranchesMayShareBytes) {
  tests::PlanBuilder b = tests::control_plan();
  const uint32_t four = b.plan.bindings[0].dims[0];
  const uint64_t end = b.program().arena_size;
  const int32_t kept = b.dense(b.arena(16), DType::kF32, {four}, "kept");
  const int32_t rectified = b.dense(b.arena(16), DType::kF32, {four}, "rectified");
  storage(b.plan, "rectified").offset = storage(b.plan, "kept").offset = end;
  for (const auto& [body, value] : {std::pair(size_t{1}, kept), {size_t{2}, rectified}}) {
    StepModel copy = b.program().bodies[1][0];
    copy.inputs = {value};
    copy.outputs = {tensor(b.plan, "state")};
    b.program().bodies[body][0].outputs = {value};
    b.program().bodies[body].push_back(copy);
  }
  tests::Aligned bytes(tests::engine_bytes(b.plan));
  pw_engine* engine = nullptr;
  EXPECT_EQ(pw_engine_open_memory(bytes.data(), bytes.size(), nullptr, &engine), PW_OK) << pw_last_error();
  pw_engine_close(engine);
}

}  // namespace
}  // namespace planwright
