// Index tensors hold data that nothing has checked before a kernel runs.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_INDICES_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_INDICES_H_

#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {

// An index as ONNX's selecting operators take it: negative ones count from the end.
inline int64_t wrapped(int64_t index, int64_t dim) { return index < 0 ? index + dim : index; }

// kPrecondition, naming the value, unless `index` lies in [-dim, dim).
inline Status check_index(OpKind op, int64_t index, int64_t dim) {
  if (index >= -dim && index < dim) return kOkStatus;
  return error(StatusCode::kPrecondition, "%s: index %ld is outside an axis of %ld elements", name_of(op), index, dim);
}

// Checks every element of `indices` against one axis.
inline Status check_indices(OpKind op, const TensorView& indices, int64_t dim) {
  Status status;
  for_each_position_in_order(Box(indices), [&](const Position& at) {
    if (status.ok()) status = check_index(op, load<int64_t>(indices, at.offset(indices)), dim);
  });
  return status;
}

// Checks tuples of indices, the last axis of `indices`, against the axes of `data` from `first_axis` on.
inline Status check_tuples(OpKind op, const TensorView& indices, const TensorView& data, int first_axis) {
  Status status;
  for_each_position_in_order(Box(indices), [&](const Position& at) {
    const int64_t dim = data.dims[first_axis + at.at[indices.rank - 1]];
    if (status.ok()) status = check_index(op, load<int64_t>(indices, at.offset(indices)), dim);
  });
  return status;
}

// The offset into `data` of the tuple at `at` (the last coordinate is ignored).
inline int64_t tuple_offset(const TensorView& indices, Position at, const TensorView& data, int first_axis) {
  int64_t offset = 0;
  for (int64_t i = 0; i < indices.dims[indices.rank - 1]; ++i) {
    at.at[indices.rank - 1] = i;
    const int64_t index = load<int64_t>(indices, at.offset(indices));
    offset += wrapped(index, data.dims[first_axis + i]) * data.strides[first_axis + i];
  }
  return offset;
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_INDICES_H_
