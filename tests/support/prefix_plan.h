// A small plan whose output's size is a value known only at run time.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PREFIX_PLAN_H_
#define PLANWRIGHT_TESTS_SUPPORT_PREFIX_PLAN_H_

#include "tests/support/small_plan.h"

namespace planwright::tests {

// y[k] = relu of the first k of x[4], k from 1 to 3 being the one element of int64 input `count` (of the step `copied`
// that copies it, if `by_step`).
inline PlanBuilder prefix_plan(bool by_step, int64_t max = 3) {
  PlanBuilder b;
  const uint32_t one = b.constant(1), four = b.constant(4), zero = b.constant(0);
  const uint32_t k = b.symbol(1, 0, 1, max);
  b.plan.symbols[0].origin = by_step ? 2 : 1;
  b.input("x", DType::kF32, {four}, {4}, {4}, {4});
  const int32_t count = b.input("count", DType::kI64, {one}, {1}, {1}, {1});
  if (!by_step) {
    b.plan.profiles[0].inputs[1].value_min = {1};
    b.plan.profiles[0].inputs[1].value_opt = {2};
    b.plan.profiles[0].inputs[1].value_max = {max};
  }
  const int32_t y = b.output("y", DType::kF32, {k});
  b.program().storages[b.program().tensors[static_cast<size_t>(y)].storage].size = static_cast<uint64_t>(max) * 4;
  if (by_step) {
    const int32_t copied = b.dense(b.arena(8), DType::kI64, {one}, "copied");
    b.step("reference_copy", OpKind::kCopy, {count}, {copied}, "copy").results = {{0, 0, 0}};
  }
  b.program().tensors.push_back({0, DType::kF32, {k}, {one}, zero, "prefix"});
  b.relu(static_cast<int32_t>(b.program().tensors.size()) - 1, y, "relu");
  return b;
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_PREFIX_PLAN_H_
