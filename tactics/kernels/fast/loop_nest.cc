#include "tactics/kernels/fast/loop_nest.h"

#include "schemas/types/checked.h"

namespace planwright {
namespace {

// Whether axis `a` lies outside axis `b`: by the first view that tells them apart.
bool is_outer(const LoopNest& nest, int a, int b) {
  for (int view = 0; view < nest.views; ++view) {
    if (nest.strides[view][a] != nest.strides[view][b]) return nest.strides[view][a] > nest.strides[view][b];
  }
  return false;
}

void swap_axes(LoopNest& nest, int a, int b) {
  const int64_t dim = nest.dims[a];
  nest.dims[a] = nest.dims[b];
  nest.dims[b] = dim;
  for (int view = 0; view < nest.views; ++view) {
    const int64_t stride = nest.strides[view][a];
    nest.strides[view][a] = nest.strides[view][b];
    nest.strides[view][b] = stride;
  }
}

bool can_merge(const LoopNest& nest, int outer, int inner) {
  for (int view = 0; view < nest.views; ++view) {
    int64_t span;
    if (!checked_mul(nest.strides[view][inner], nest.dims[inner], &span) || nest.strides[view][outer] != span) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t LoopNest::outer_count() const {
  int64_t count = 1;
  for (int axis = 0; axis + 1 < rank; ++axis) count *= dims[axis];
  return count;
}

LoopNest make_loop_nest(int rank, const int64_t* dims, int views, const int64_t (*strides)[kMaxRank]) {
  LoopNest nest;
  nest.views = views;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 1) continue;
    nest.dims[nest.rank] = dims[axis];
    for (int view = 0; view < views; ++view) nest.strides[view][nest.rank] = strides[view][axis];
    ++nest.rank;
  }
  // Insertion sort: at most eight axes, and stable.
  for (int i = 1; i < nest.rank; ++i) {
    for (int j = i; j > 0 && is_outer(nest, j, j - 1); --j) swap_axes(nest, j, j - 1);
  }
  int kept = 0;
  for (int axis = 1; axis < nest.rank; ++axis) {
    if (can_merge(nest, kept, axis)) {
      nest.dims[kept] *= nest.dims[axis];
      for (int view = 0; view < views; ++view) nest.strides[view][kept] = nest.strides[view][axis];
    } else {
      swap_axes(nest, ++kept, axis);
    }
  }
  if (nest.rank == 0) nest.dims[0] = 1;  // one element
  nest.rank = kept + 1;
  return nest;
}

void lengthen_inner(LoopNest* nest) {
  constexpr int64_t kFew = 8;
  const int inner = nest->rank - 1;
  if (nest->inner() >= kFew) return;
  int longest = inner;
  for (int axis = inner - 1; axis >= 0; --axis) {
    if (nest->dims[axis] > nest->dims[longest]) longest = axis;
  }
  if (nest->dims[longest] >= kFew) swap_axes(*nest, longest, inner);
}

OuterPosition::OuterPosition(const LoopNest& nest, int64_t index) : nest_(nest) {
  for (int view = 0; view < nest.views; ++view) offsets_[view] = 0;
  for (int axis = nest.rank - 2; axis >= 0; --axis) {
    position_[axis] = index % nest.dims[axis];
    index /= nest.dims[axis];
    for (int view = 0; view < nest.views; ++view) offsets_[view] += position_[axis] * nest.strides[view][axis];
  }
}

void OuterPosition::next() {
  for (int axis = nest_.rank - 2; axis >= 0; --axis) {
    const bool wraps = ++position_[axis] == nest_.dims[axis];
    const int64_t steps = wraps ? 1 - nest_.dims[axis] : 1;
    for (int view = 0; view < nest_.views; ++view) offsets_[view] += steps * nest_.strides[view][axis];
    if (!wraps) return;
    position_[axis] = 0;
  }
}

}  // namespace planwright
