// A plan with a Loop and an If inside it, put together by hand.
#ifndef PLANWRIGHT_TESTS_SUPPORT_CONTROL_PLAN_H_
#define PLANWRIGHT_TESTS_SUPPORT_CONTROL_PLAN_H_

#include "tests/support/small_plan.h"

namespace planwright::tests {

// state = x[4]; as often as `trips` says: next = state + state, row i of rows[3,4] is next, state = `keep` ? next :
// max(next, 0). y is the last state. Regions: 1 the Loop's body, 2 and 3 the If's. `always_three`: the trip count is a
// constant, whatever the caller gives.
inline PlanBuilder control_plan(bool always_three = false) {
  PlanBuilder b;
  const uint32_t one = b.constant(1), three = b.constant(3), four = b.constant(4);
  b.plan.symbols.push_back({2, 0, 0, 0, 2});
  b.plan.expressions.push_back({ExprOp::kSymbol, 0, 0, 0});
  const auto iteration_symbol = static_cast<uint32_t>(b.plan.expressions.size()) - 1;
  const int32_t x = b.input("x", DType::kF32, {four}, {4}, {4}, {4});
  const int32_t trips = b.input("trips", DType::kI64, {one}, {1}, {1}, {1});
  const int32_t keep = b.input("keep", DType::kBool, {one}, {1}, {1}, {1});
  const int32_t y = b.output("y", DType::kF32, {four}), rows = b.output("rows", DType::kF32, {three, four});
  const int32_t state = b.dense(b.arena(16), DType::kF32, {four}, "state");
  const int32_t next = b.dense(b.arena(16), DType::kF32, {four}, "next");
  const int32_t stack = b.dense(b.arena(48), DType::kF32, {three, four}, "stack");
  const int32_t iteration = b.dense(b.arena(8), DType::kI64, {one}, "iteration");
  const uint32_t stack_storage = b.program().tensors[static_cast<size_t>(stack)].storage;
  b.program().tensors.push_back(
      {stack_storage, DType::kF32, {four}, {one}, b.expression(ExprOp::kMul, iteration_symbol, four), "row"});
  const auto row = static_cast<int32_t>(b.program().tensors.size()) - 1;
  const int32_t count = always_three ? b.weights<int64_t>(DType::kI64, {one}, {3}) : trips;

  std::vector<planfmt::StepModel>& steps = b.program().steps;
  const auto take = [&] {
    planfmt::StepModel model = std::move(steps.back());
    steps.pop_back();
    return model;
  };
  std::vector<planfmt::StepModel> body, kept, rectified;
  planfmt::StepModel& sum = b.step("reference_pointwise", OpKind::kPointwise, {state}, {next}, "double");
  std::vector<PwInstr> program(3);
  program[0].op = PwOp::kLoad;
  program[1].op = PwOp::kAdd;
  program[2].op = PwOp::kStore;
  sum.program = bytes_of(program);
  body.push_back(take());
  b.step("reference_copy", OpKind::kCopy, {next}, {row}, "row");
  body.push_back(take());
  b.step("control_if", OpKind::kIf, {keep}, {}, "if").regions = {2, 3};
  body.push_back(take());
  b.step("reference_copy", OpKind::kCopy, {next}, {state}, "keep");
  kept.push_back(take());
  b.relu(next, state, "rectify");
  rectified.push_back(take());

  b.step("reference_copy", OpKind::kCopy, {x}, {state}, "start");
  planfmt::StepModel& loop = b.step("control_loop", OpKind::kLoop, {count, -1}, {iteration}, "loop");
  loop.regions = {1};
  loop.results = {{0, 0, 0}};
  b.step("reference_copy", OpKind::kCopy, {state}, {y}, "end");
  b.step("reference_copy", OpKind::kCopy, {stack}, {rows}, "stacked");
  b.program().bodies = {body, kept, rectified};
  return b;
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_CONTROL_PLAN_H_
