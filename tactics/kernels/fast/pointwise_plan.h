// How the elements of a Pointwise are cut into tasks and strips.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_PLAN_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_PLAN_H_

#include "tactics/kernels/fast/loop_nest.h"

namespace planwright {

// A task is a block of one row of the innermost axis where rows are long, else a group of rows.
struct PointwisePlan {
  static constexpr int64_t kUncut = 1 << 14;  // a longest strip that cuts no task

  LoopNest nest;  // the outputs, then the operands
  int64_t tasks;
  int64_t blocks, block;  // of a row, and their elements
  int64_t group;          // rows of a task
  int64_t strip;          // elements of a strip: the blocks' rows in equal parts, whole vectors but for the last

  // Elements [start, end) of rows [first, last).
  struct Range {
    int64_t first, last, start, end;
  };
  Range range_of(int64_t task) const;
};

// For arguments that validate_common, with at least one element; strips have at most `longest_strip` elements, a
// multiple of 16.
PointwisePlan plan_pointwise(const KernelArgs& args, int64_t longest_strip);

// Calls body(at, start, count) for each strip of a task; `at` has the offsets of the row, in which the strip has
// `count` elements from `start` on.
template <typename Body>
void for_each_strip(const PointwisePlan& plan, int64_t task, const Body& body) {
  const PointwisePlan::Range range = plan.range_of(task);
  OuterPosition at(plan.nest, range.first);
  for (int64_t row = range.first; row < range.last; ++row, at.next()) {
    for (int64_t i = range.start; i < range.end; i += plan.strip) {
      body(at, i, static_cast<int>(range.end - i < plan.strip ? range.end - i : plan.strip));
    }
  }
}

// Short rows whose elements lie next to each other in every view, or are the same for all rows, or one number: as many
// of them as a strip takes are computed as one. A task is a group of strips of one run of rows.
struct RowStrips {
  enum class Kind : uint8_t {
    kOne,
    kRepeated,  // the same row for a whole run
    kRows,
  };
  LoopNest nest;  // the outputs, then the operands
  int64_t row;    // elements of one
  int64_t rows;   // of a run
  int64_t strip;  // rows of a strip
  int64_t group;  // rows of a task
  int64_t tasks_of_run, tasks;
  Kind kinds[LoopNest::kMaxViews];

  // Elements from a row to the next.
  int64_t stride(int view) const { return nest.strides[view][nest.rank - 2]; }
  bool is_dense(int view) const { return stride(view) == row; }
  // Calls body(at, first, count) for each strip of a task: `count` rows from number `first` of a run on, whose offsets
  // `at` has.
  template <typename Body>
  void for_each(int64_t task, const Body& body) const {
    const int64_t run = task / tasks_of_run, start = task % tasks_of_run * group;
    const int64_t end = rows - start < group ? rows : start + group;
    const OuterPosition at(nest, run * rows);
    for (int64_t first = start; first < end; first += strip) {
      body(at, first, static_cast<int>(end - first < strip ? end - first : strip));
    }
  }
};

// As plan_pointwise. False where the views are not so.
bool plan_row_strips(const KernelArgs& args, int64_t longest_strip, RowStrips* plan);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_POINTWISE_PLAN_H_
