#include "tactics/kernels/fast/pointwise_plan.h"

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

PointwisePlan plan_pointwise(const KernelArgs& args, int64_t longest_strip) {
  const TensorView& first = args.outputs[0];
  int64_t strides[LoopNest::kMaxViews][kMaxRank];
  int views = 0;
  for (int i = 0; i < args.output_count; ++i) broadcast_strides(args.outputs[i], first, strides[views++]);
  for (int i = 0; i < args.input_count; ++i) broadcast_strides(args.inputs[i], first, strides[views++]);
  PointwisePlan plan;
  plan.nest = make_loop_nest(first.rank, first.dims, views, strides);
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

}  // namespace planwright
