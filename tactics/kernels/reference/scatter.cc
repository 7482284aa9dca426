// Copies of a tensor with some elements replaced or combined. Updates are applied in row-major order by one thread, so
// that what repeated indices give does not depend on the number of threads.
#include "tactics/kernels/reference/indices.h"
#include "tactics/kernels/reference/movement.h"

namespace planwright::reference {
namespace {

template <typename T>
T combined(ScatterReduction reduction, T old, T update) {
  switch (reduction) {
    case ScatterReduction::kNone: return update;
    case ScatterReduction::kAdd: return add(old, update);
    case ScatterReduction::kMul: return multiply(old, update);
    case ScatterReduction::kMax: return old != old || old > update ? old : update;
    case ScatterReduction::kMin: return old != old || old < update ? old : update;
  }
  return update;
}

void update_element(ScatterReduction reduction, const TensorView& updates, int64_t from, const TensorView& y,
                    int64_t to) {
  if (reduction == ScatterReduction::kNone) {
    return copy_element(size_of(y.dtype), updates.data, from, y.data, to);
  }
  with_accumulator(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    store(y, to, combined<T>(reduction, load<T>(y, to), load<T>(updates, from)));
  });
}

Status validate_scatter(const KernelArgs& args, ScatterReduction reduction) {
  const TensorView &data = args.inputs[0], &updates = args.inputs[2];
  PW_REQUIRE(reduction >= ScatterReduction::kNone && reduction <= ScatterReduction::kMin, "%s: unknown reduction %d",
             name_of(args.op), static_cast<int>(reduction));
  PW_RETURN_IF_ERROR(require_indices(args, 1));
  PW_REQUIRE(updates.dtype == data.dtype, "%s: updates are %s, the data %s", name_of(args.op), name_of(updates.dtype),
             name_of(data.dtype));
  return require_same(args);
}

}  // namespace

Status validate_scatter_elements(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ScatterElementsParams>();
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2];
  PW_RETURN_IF_ERROR(validate_scatter(args, params.reduction));
  PW_RETURN_IF_ERROR(require_axis(args, params.axis, data.rank));
  PW_REQUIRE(indices.rank == data.rank && same_dims(indices, updates),
             "ScatterElements: the dims of indices and updates differ");
  for (int i = 0; i < data.rank; ++i) {
    PW_REQUIRE(i == params.axis || indices.dims[i] <= data.dims[i], "ScatterElements: %ld indices along an axis of %ld",
               indices.dims[i], data.dims[i]);
  }
  return kOkStatus;
}

Status run_scatter_elements(const KernelArgs& args) {
  const auto& params = args.params_as<ScatterElementsParams>();
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2], &y = args.outputs[0];
  const int axis = params.axis;
  PW_RETURN_IF_ERROR(check_indices(args.op, indices, data.dims[axis]));
  copy_box(args, Box(data), data, 0, data.strides, y, 0, y.strides);
  for_each_position_in_order(Box(indices), [&](const Position& at) {
    const int64_t index = wrapped(load<int64_t>(indices, at.offset(indices)), data.dims[axis]);
    const int64_t to = at.offset(y) + (index - at.at[axis]) * y.strides[axis];
    update_element(params.reduction, updates, at.offset(updates), y, to);
  });
  return kOkStatus;
}

Status validate_scatter_nd(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2];
  PW_RETURN_IF_ERROR(validate_scatter(args, args.params_as<ScatterNDParams>().reduction));
  PW_REQUIRE(indices.rank >= 1, "ScatterND: the indices are a scalar");
  const int64_t tuple = indices.dims[indices.rank - 1];
  PW_REQUIRE(tuple >= 1 && tuple <= data.rank, "ScatterND: %ld indices into %d axes", tuple, data.rank);
  const int tuples = indices.rank - 1, slice = data.rank - static_cast<int>(tuple);
  PW_REQUIRE(updates.rank == tuples + slice, "ScatterND: updates of rank %d, not %d", updates.rank, tuples + slice);
  for (int i = 0; i < updates.rank; ++i) {
    const int64_t dim = i < tuples ? indices.dims[i] : data.dims[data.rank - updates.rank + i];
    PW_REQUIRE(updates.dims[i] == dim, "ScatterND: updates have %ld elements along axis %d, not %ld", updates.dims[i],
               i, dim);
  }
  return kOkStatus;
}

Status run_scatter_nd(const KernelArgs& args) {
  const ScatterReduction reduction = args.params_as<ScatterNDParams>().reduction;
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2], &y = args.outputs[0];
  PW_RETURN_IF_ERROR(check_tuples(args.op, indices, data, 0));
  copy_box(args, Box(data), data, 0, data.strides, y, 0, y.strides);
  const int tuples = indices.rank - 1, slice = updates.rank - tuples;
  for_each_position_in_order(Box(updates), [&](const Position& at) {
    int64_t to = tuple_offset(indices, at, y, 0);
    for (int i = 0; i < slice; ++i) to += at.at[tuples + i] * y.strides[y.rank - slice + i];
    update_element(reduction, updates, at.offset(updates), y, to);
  });
  return kOkStatus;
}

}  // namespace planwright::reference
