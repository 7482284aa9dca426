// How reference kernels visit elements: boxes in row-major order, cut into tasks of the executor. The cut depends on
// the box alone, so results do not depend on the number of threads.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WALK_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WALK_H_

#include <cstdint>

#include "tactics/kernels/kernel.h"

namespace planwright::reference {

// A box of indices; axis rank-1 runs fastest.
struct Box {
  int rank = 0;
  int64_t dims[kMaxRank] = {};

  Box() = default;
  explicit Box(const TensorView& view) : Box(view, 0, view.rank) {}
  // Axes [first, last) of a view.
  Box(const TensorView& view, int first, int last) : rank(last - first) {
    for (int i = 0; i < rank; ++i) dims[i] = view.dims[first + i];
  }

  int64_t count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }
};

// A position in a box.
struct Position {
  int64_t at[kMaxRank] = {};

  Position() = default;
  // The `flat`-th in row-major order; the box is not empty.
  Position(const Box& box, int64_t flat) {
    for (int i = box.rank - 1; i >= 0; --i) {
      at[i] = flat % box.dims[i];
      flat /= box.dims[i];
    }
  }

  void advance(const Box& box) {
    for (int i = box.rank - 1; i >= 0; --i) {
      if (++at[i] < box.dims[i]) return;
      at[i] = 0;
    }
  }

  // Of the position's first `rank` coordinates.
  int64_t offset(const int64_t* strides, int rank) const {
    int64_t offset = 0;
    for (int i = 0; i < rank; ++i) offset += at[i] * strides[i];
    return offset;
  }
  int64_t offset(const TensorView& view) const { return offset(view.strides, view.rank); }
};

// Enough tasks for any machine's cores, few enough that dealing them out costs nothing.
inline constexpr int64_t kMaxTasks = 256;

// Calls body(begin, end, worker) for runs that make up [0, count).
template <typename Body>
void for_each_run(const KernelArgs& args, int64_t count, const Body& body) {
  const int64_t tasks = count < kMaxTasks ? count : kMaxTasks;
  parallel_for(*args.executor, tasks, [&](int64_t task, int worker) {
    // The first count % tasks runs are one longer.
    const int64_t length = count / tasks, longer = count % tasks;
    const int64_t begin = task * length + (task < longer ? task : longer);
    body(begin, begin + length + (task < longer ? 1 : 0), worker);
  });
}

// Calls body(position, worker) at every position of the box.
template <typename Body>
void for_each_position(const KernelArgs& args, const Box& box, const Body& body) {
  for_each_run(args, box.count(), [&](int64_t begin, int64_t end, int worker) {
    Position position(box, begin);
    for (int64_t i = begin; i < end; ++i, position.advance(box)) body(position, worker);
  });
}

// The same in this thread, in order.
template <typename Body>
void for_each_position_in_order(const Box& box, const Body& body) {
  const int64_t count = box.count();
  Position position;
  for (int64_t i = 0; i < count; ++i, position.advance(box)) body(position);
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_WALK_H_
