#include "tactics/kernels/fast/pointwise_plan.h"

#include <numeric>

namespace planwright {
namespace {

constexpr int64_t kTaskElements =
    PointwisePlan::kUncut;          // 64 KiB an operand: some 5 us, so that handing tasks out does not show
constexpr int64_t kStripUnit = 16;  // the longest vector

int64_t ceil_div(int64_t a, int64_t b) { return (a - 1) / b + 1; }

}  // namespace

PointwisePlan::Range PointwisePlan::range_of(int64_t task) const {
  const int64_t rows = nest.outer_count(), inner = nest.inner();
  Range range;
  range.first = task / blocks * group;
  range.last = rows - range.first < group ? rows : range.first + group;
  range.start = task % blocks * block;
  range.end = inner - range.start < block ? inner : range.start + block;
  return range;
}

namespace {

LoopNest nest_of(const KernelArgs& args) {
  const TensorView& first = args.outputs[0];
  int64_t strides[LoopNest::kMaxViews][kMaxRank];
  int views = 0;
  for (int i = 0; i < args.output_count; ++i) broadcast_strides(args.outputs[i], first, strides[views++]);
  for (int i = 0; i < args.input_count; ++i) broadcast_strides(args.inputs[i], first, strides[views++]);
  return make_loop_nest(first.rank, first.dims, views, strides);
}

}  // namespace

PointwisePlan plan_pointwise(const KernelArgs& args, int64_t longest_strip) {
  PointwisePlan plan;
  plan.nest = nest_of(args);
  lengthen_inner(&plan.nest);
  const int64_t rows = plan.nest.outer_count(), inner = plan.nest.inner();
  // 257 elements are 144 and 113, not 256 and 1: a strip costs something to start.
  const int64_t even = ceil_div(inner, ceil_div(inner, longest_strip));
  plan.strip = ceil_div(even, kStripUnit) * kStripUnit;
  plan.block = kTaskElements / plan.strip * plan.strip;
  plan.blocks = ceil_div(inner, plan.block);
  plan.group = plan.blocks > 1 ? 1 : kTaskElements / inner + 1;
  plan.tasks = ceil_div(rows, plan.group) * plan.blocks;
  return plan;
}

bool plan_row_strips(const KernelArgs& args, int64_t longest_strip, RowStrips* plan) {
  plan->nest = nest_of(args);
  const LoopNest& nest = plan->nest;
  if (nest.rank < 2 || nest.inner() > longest_strip / 2) return false;
  const int inner = nest.rank - 1;
  for (int view = 0; view < nest.views; ++view) {
    const int64_t* strides = nest.strides[view];
    bool is_one = true;
    for (int axis = 0; axis < nest.rank; ++axis) is_one = is_one && strides[axis] == 0;
    if (!is_one && strides[inner] != 1) return false;
    plan->kinds[view] = is_one                    ? RowStrips::Kind::kOne
                        : strides[inner - 1] == 0 ? RowStrips::Kind::kRepeated
                                                  : RowStrips::Kind::kRows;
  }
  plan->row = nest.inner();
  plan->rows = nest.dims[inner - 1];
  plan->strip = longest_strip / plan->row;
  // Whole vectors, where rows can be that.
  const int64_t whole = kStripUnit / std::gcd(plan->row, kStripUnit);
  if (plan->strip > whole) plan->strip = plan->strip / whole * whole;
  plan->group = ceil_div(kTaskElements, plan->row * plan->strip) * plan->strip;
  plan->tasks_of_run = ceil_div(plan->rows, plan->group);
  plan->tasks = nest.outer_count() / plan->rows * plan->tasks_of_run;
  return true;
}

}  // namespace planwright
