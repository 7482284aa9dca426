#include "tactics/kernels/reference/indices.h"

namespace planwright::reference {

Status validate_gather(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &data = args.inputs[0], &indices = args.inputs[1];
  const int axis = args.params_as<GatherParams>().axis;
  PW_RETURN_IF_ERROR(require_axis(args, axis, data.rank));
  PW_RETURN_IF_ERROR(require_indices(args, 1));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const int rank = data.rank - 1 + indices.rank;
  PW_REQUIRE(rank <= kMaxRank, "Gather: the output would have rank %d", rank);
  int64_t dims[kMaxRank];
  for (int i = 0; i < rank; ++i) {
    dims[i] = i < axis                  ? data.dims[i]
              : i < axis + indices.rank ? indices.dims[i - axis]
                                        : data.dims[i - indices.rank + 1];
  }
  return require_dims(args, 0, dims, rank);
}

Status run_gather(const KernelArgs& args) {
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &y = args.outputs[0];
  const int axis = args.params_as<GatherParams>().axis;
  PW_RETURN_IF_ERROR(check_indices(args.op, indices, data.dims[axis]));
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t from = 0, index = 0;
    for (int i = 0; i < y.rank; ++i) {
      if (i < axis) {
        from += at.at[i] * data.strides[i];
      } else if (i < axis + indices.rank) {
        index += at.at[i] * indices.strides[i - axis];
      } else {
        from += at.at[i] * data.strides[i - indices.rank + 1];
      }
    }
    from += wrapped(load<int64_t>(indices, index), data.dims[axis]) * data.strides[axis];
    copy_element(size_of(y.dtype), data.data, from, y.data, at.offset(y));
  });
  return kOkStatus;
}

Status validate_gather_elements(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &data = args.inputs[0], &indices = args.inputs[1];
  const int axis = args.params_as<GatherElementsParams>().axis;
  PW_RETURN_IF_ERROR(require_axis(args, axis, data.rank));
  PW_RETURN_IF_ERROR(require_indices(args, 1));
  PW_RETURN_IF_ERROR(require_same_type(args));
  PW_REQUIRE(indices.rank == data.rank, "GatherElements: ranks %d and %d differ", data.rank, indices.rank);
  for (int i = 0; i < data.rank; ++i) {
    PW_REQUIRE(i == axis || indices.dims[i] <= data.dims[i], "GatherElements: %ld indices along an axis of %ld",
               indices.dims[i], data.dims[i]);
  }
  return require_dims(args, 0, indices.dims, indices.rank);
}

Status run_gather_elements(const KernelArgs& args) {
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &y = args.outputs[0];
  const int axis = args.params_as<GatherElementsParams>().axis;
  PW_RETURN_IF_ERROR(check_indices(args.op, indices, data.dims[axis]));
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t index = wrapped(load<int64_t>(indices, at.offset(indices)), data.dims[axis]);
    const int64_t from = at.offset(data) + (index - at.at[axis]) * data.strides[axis];
    copy_element(size_of(y.dtype), data.data, from, y.data, at.offset(y));
  });
  return kOkStatus;
}

Status validate_gather_nd(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &data = args.inputs[0], &indices = args.inputs[1];
  const int batch = args.params_as<GatherNDParams>().batch_dims;
  PW_RETURN_IF_ERROR(require_indices(args, 1));
  PW_RETURN_IF_ERROR(require_same_type(args));
  PW_REQUIRE(indices.rank >= 1 && batch >= 0 && batch < indices.rank && batch < data.rank,
             "GatherND: %d batch axes of tensors of rank %d and %d", batch, data.rank, indices.rank);
  const int64_t tuple = indices.dims[indices.rank - 1];
  PW_REQUIRE(tuple >= 1 && tuple <= data.rank - batch, "GatherND: %ld indices into %d axes", tuple, data.rank - batch);
  const int slice = data.rank - batch - static_cast<int>(tuple);
  const int rank = indices.rank - 1 + slice;
  PW_REQUIRE(rank <= kMaxRank, "GatherND: the output would have rank %d", rank);
  int64_t dims[kMaxRank];
  for (int i = 0; i < indices.rank - 1; ++i) {
    PW_REQUIRE(i >= batch || indices.dims[i] == data.dims[i], "GatherND: batch axis %d has %ld and %ld elements", i,
               data.dims[i], indices.dims[i]);
    dims[i] = indices.dims[i];
  }
  for (int i = 0; i < slice; ++i) dims[indices.rank - 1 + i] = data.dims[data.rank - slice + i];
  return require_dims(args, 0, dims, rank);
}

Status run_gather_nd(const KernelArgs& args) {
  const TensorView &data = args.inputs[0], &indices = args.inputs[1], &y = args.outputs[0];
  const int batch = args.params_as<GatherNDParams>().batch_dims;
  PW_RETURN_IF_ERROR(check_tuples(args.op, indices, data, batch));
  const int tuples = indices.rank - 1, slice = y.rank - tuples;
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t from = at.offset(data.strides, batch) + tuple_offset(indices, at, data, batch);
    for (int i = 0; i < slice; ++i) from += at.at[tuples + i] * data.strides[data.rank - slice + i];
    copy_element(size_of(y.dtype), data.data, from, y.data, at.offset(y));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
