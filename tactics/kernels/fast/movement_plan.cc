#include "tactics/kernels/fast/movement_plan.h"

#include "schemas/types/checked.h"

namespace planwright {
namespace {

// Axes as they are found; Tile and Reshape may cut more pieces than a tensor has axes.
struct Pieces {
  static constexpr int kMost = 2 * kMaxRank;
  int count = 0;
  int64_t dims[kMost];
  int64_t to_strides[kMost], from_strides[kMost];
  int64_t to_offset = 0, from_offset = 0;  // elements

  void add(int64_t dim, int64_t to_stride, int64_t from_stride) {
    if (dim == 1) return;
    dims[count] = dim;
    to_strides[count] = to_stride;
    from_strides[count++] = from_stride;
  }
  void add_axes(const TensorView& to, const int64_t* from) {
    for (int axis = 0; axis < to.rank; ++axis) add(to.dims[axis], to.strides[axis], from[axis]);
  }
};

void plan_expand(const KernelArgs& args, Pieces* pieces) {
  int64_t strides[kMaxRank];
  broadcast_strides(args.inputs[0], args.outputs[0], strides);
  pieces->add_axes(args.outputs[0], strides);
}

void plan_transpose(const KernelArgs& args, Pieces* pieces) {
  int64_t strides[kMaxRank];
  for (int axis = 0; axis < args.outputs[0].rank; ++axis) {
    strides[axis] = args.inputs[0].strides[args.params_as<TransposeParams>().perm[axis]];
  }
  pieces->add_axes(args.outputs[0], strides);
}

void plan_slice(const KernelArgs& args, Pieces* pieces) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t strides[kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) {
    pieces->from_offset += args.scalars[axis] * x.strides[axis];
    // The step along an axis of one element may be anything.
    strides[axis] = y.dims[axis] > 1 ? args.scalars[x.rank + axis] * x.strides[axis] : 0;
  }
  pieces->add_axes(y, strides);
}

void plan_tile(const KernelArgs& args, Pieces* pieces) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for (int axis = 0; axis < x.rank; ++axis) {
    const int64_t dim = x.dims[axis], repeats = y.dims[axis] / dim;
    if (repeats > 1) pieces->add(repeats, dim * y.strides[axis], 0);
    pieces->add(dim, y.strides[axis], x.strides[axis]);
  }
}

void plan_concat(const KernelArgs& args, int input, Pieces* pieces) {
  const TensorView &x = args.inputs[input], &y = args.outputs[0];
  const int joined = args.params_as<ConcatParams>().axis;
  for (int i = 0; i < input; ++i) pieces->to_offset += args.inputs[i].dims[joined] * y.strides[joined];
  for (int axis = 0; axis < y.rank; ++axis) pieces->add(x.dims[axis], y.strides[axis], x.strides[axis]);
}

// One side of a Reshape: its elements in order, from the innermost axis on, cut off piece by piece. Axes that run on
// from one another are one, so a dense side can be cut anywhere.
class AxisCutter {
 public:
  explicit AxisCutter(const TensorView& view) : view_(view), axis_(view.rank) { next(); }

  int64_t left() const { return left_; }  // of the present axis; 1 when no axis is left
  int64_t stride() const { return stride_; }

  void cut(int64_t length) {
    left_ /= length;
    if (left_ == 1) return next();
    stride_ *= length;
  }

 private:
  void next() {
    for (; axis_ > 0; --axis_) {
      const int64_t dim = view_.dims[axis_ - 1];
      if (dim == 1) continue;
      if (left_ > 1 && !runs_on()) return;
      if (left_ == 1) stride_ = view_.strides[axis_ - 1];
      left_ *= dim;
    }
  }
  bool runs_on() const {
    int64_t span;
    return checked_mul(stride_, left_, &span) && view_.strides[axis_ - 1] == span;
  }

  const TensorView& view_;
  int axis_;
  int64_t left_ = 1;
  int64_t stride_ = 0;
};

Status plan_reshape(const KernelArgs& args, Pieces* pieces) {
  AxisCutter to(args.outputs[0]), from(args.inputs[0]);
  while (to.left() > 1 || from.left() > 1) {
    const int64_t a = to.left(), b = from.left(), shorter = a < b ? a : b, longer = a < b ? b : a;
    if (longer % shorter != 0) {
      return error(StatusCode::kUnsupported, "%ld elements that lie together cannot be cut into %ld", longer, shorter);
    }
    pieces->add(shorter, to.stride(), from.stride());
    to.cut(shorter);
    from.cut(shorter);
  }
  return kOkStatus;
}

Status find_pieces(const KernelArgs& args, int input, Pieces* pieces) {
  // Of nothing nothing is moved, whatever the strides; and Tile divides by its input's dims.
  if (element_count(args.outputs[0]) == 0 || element_count(args.inputs[input]) == 0) {
    pieces->add(0, 0, 0);
    return kOkStatus;
  }
  switch (args.op) {
    case OpKind::kExpand: plan_expand(args, pieces); break;
    case OpKind::kTranspose: plan_transpose(args, pieces); break;
    case OpKind::kSlice: plan_slice(args, pieces); break;
    case OpKind::kTile: plan_tile(args, pieces); break;
    case OpKind::kConcat: plan_concat(args, input, pieces); break;
    case OpKind::kReshape: return plan_reshape(args, pieces);
    default: pieces->add_axes(args.outputs[0], args.inputs[input].strides); break;
  }
  return kOkStatus;
}

}  // namespace

Status plan_movement(const KernelArgs& args, int input, StridedCopy* copy) {
  Pieces pieces;
  PW_RETURN_IF_ERROR(find_pieces(args, input, &pieces));
  if (pieces.count > kMaxRank) return error(StatusCode::kUnsupported, "moves along %d axes at once", pieces.count);
  int64_t strides[2][kMaxRank];
  for (int axis = 0; axis < pieces.count; ++axis) {
    strides[0][axis] = pieces.to_strides[axis];
    strides[1][axis] = pieces.from_strides[axis];
  }
  copy->nest = make_loop_nest(pieces.count, pieces.dims, 2, strides);
  lengthen_inner(&copy->nest);
  copy->element_size = static_cast<int64_t>(size_of(args.outputs[0].dtype));
  std::byte* to = args.outputs[0].as<std::byte>();
  const std::byte* from = args.inputs[input].as<const std::byte>();
  copy->to = to == nullptr ? nullptr : to + pieces.to_offset * copy->element_size;
  copy->from = from == nullptr ? nullptr : from + pieces.from_offset * copy->element_size;
  return kOkStatus;
}

}  // namespace planwright
