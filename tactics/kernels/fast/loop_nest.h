// The loops over several views of the same dims, with as few and as long axes as their strides allow.
#ifndef PLANWRIGHT_TACTICS_KERNELS_FAST_LOOP_NEST_H_
#define PLANWRIGHT_TACTICS_KERNELS_FAST_LOOP_NEST_H_

#include <cstdint>

#include "tactics/kernels/kernel.h"

namespace planwright {

// Axes are outermost first, in descending order of the first view's strides; axes of length 1 are gone and neighbours
// that every view steps through alike are one. There is always at least one axis (of length 1 for a scalar).
struct LoopNest {
  static constexpr int kMaxViews = kMaxPwOperands + kMaxPwOutputs;
  int rank = 0;
  int views = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxViews][kMaxRank] = {};

  int64_t inner() const { return dims[rank - 1]; }
  int64_t outer_count() const;  // product of all dims but the last
};

// `strides[v]` are view v's element strides over `dims` (0 where it repeats). views in [1, kMaxViews].
LoopNest make_loop_nest(int rank, const int64_t* dims, int views, const int64_t (*strides)[kMaxRank]);

// Makes the longest axis the innermost where that has only a few elements, too few to be worth a row of their own. Rows
// are then strided; taking one costs some ten elements.
void lengthen_inner(LoopNest* nest);

// Steps through the positions of all axes but the last, keeping every view's offset.
class OuterPosition {
 public:
  // At position `index` of outer_count().
  OuterPosition(const LoopNest& nest, int64_t index);
  int64_t offset(int view) const { return offsets_[view]; }
  void next();

 private:
  const LoopNest& nest_;
  int64_t position_[kMaxRank];
  int64_t offsets_[LoopNest::kMaxViews];
};

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_FAST_LOOP_NEST_H_
