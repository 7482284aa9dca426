#include "tactics/kernels/reference/movement.h"

#include "schemas/types/checked.h"
#include "tactics/kernels/reference/indices.h"
#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

Status validate_reshape(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const int64_t in = element_count(args.inputs[0]), out = element_count(args.outputs[0]);
  PW_REQUIRE(in == out, "Reshape: %ld elements cannot become %ld", in, out);
  return kOkStatus;
}

Status run_reshape(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const Box from(x), to(y);
  for_each_run(args, to.count(), [&](int64_t begin, int64_t end, int) {
    Position from_at(from, begin), to_at(to, begin);
    for (int64_t i = begin; i < end; ++i, from_at.advance(from), to_at.advance(to)) {
      copy_element(size_of(y.dtype), x.data, from_at.offset(x), y.data, to_at.offset(y));
    }
  });
  return kOkStatus;
}

Status validate_transpose(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView& x = args.inputs[0];
  const int32_t* perm = args.params_as<TransposeParams>().perm;
  uint32_t seen = 0;
  int64_t dims[kMaxRank];
  for (int i = 0; i < x.rank; ++i) {
    PW_REQUIRE(perm[i] >= 0 && perm[i] < x.rank && (seen >> perm[i] & 1) == 0,
               "Transpose: %d at place %d makes no permutation of %d axes", perm[i], i, x.rank);
    seen |= 1u << perm[i];
    dims[i] = x.dims[perm[i]];
  }
  return require_dims(args, 0, dims, x.rank);
}

Status run_transpose(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t strides[kMaxRank];
  for (int i = 0; i < x.rank; ++i) strides[i] = x.strides[args.params_as<TransposeParams>().perm[i]];
  copy_box(args, Box(y), x, 0, strides, y, 0, y.strides);
  return kOkStatus;
}

Status validate_slice(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(y.rank == x.rank, "Slice: ranks %d and %d differ", x.rank, y.rank);
  for (int axis = 0; axis < x.rank; ++axis) {
    if (y.dims[axis] == 0) continue;
    const int64_t start = args.scalars[axis], step = args.scalars[x.rank + axis];
    int64_t last;
    PW_REQUIRE(checked_mul(y.dims[axis] - 1, step, &last) && checked_add(last, start, &last) && start >= 0 &&
                   start < x.dims[axis] && last >= 0 && last < x.dims[axis],
               "Slice: %ld elements from %ld on in steps of %ld leave axis %d of %ld", y.dims[axis], start, step, axis,
               x.dims[axis]);
  }
  return kOkStatus;
}

Status run_slice(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  int64_t base = 0, strides[kMaxRank];
  for (int axis = 0; axis < x.rank; ++axis) {
    base += args.scalars[axis] * x.strides[axis];
    // The step along an axis of one element may be anything.
    strides[axis] = y.dims[axis] > 1 ? args.scalars[x.rank + axis] * x.strides[axis] : 0;
  }
  copy_box(args, Box(y), x, base, strides, y, 0, y.strides);
  return kOkStatus;
}

Status validate_expand(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(x.rank <= y.rank, "Expand: rank %d to %d", x.rank, y.rank);
  for (int i = 1; i <= x.rank; ++i) {
    const int64_t dim = x.dims[x.rank - i];
    PW_REQUIRE(dim == 1 || dim == y.dims[y.rank - i], "Expand: %ld elements cannot repeat to %ld", dim,
               y.dims[y.rank - i]);
  }
  return kOkStatus;
}

Status run_expand(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t strides[kMaxRank];
  broadcast_strides(x, y, strides);
  copy_box(args, Box(y), x, 0, strides, y, 0, y.strides);
  return kOkStatus;
}

Status validate_concat(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const int axis = args.params_as<ConcatParams>().axis;
  const TensorView& y = args.outputs[0];
  PW_RETURN_IF_ERROR(require_axis(args, axis, y.rank));
  int64_t length = 0;
  for (int i = 0; i < args.core_inputs; ++i) {
    const TensorView& x = args.inputs[i];
    PW_REQUIRE(x.dtype == y.dtype && x.rank == y.rank, "Concat: input %d is %s of rank %d, the output %s of rank %d", i,
               name_of(x.dtype), x.rank, name_of(y.dtype), y.rank);
    for (int j = 0; j < y.rank; ++j) {
      PW_REQUIRE(j == axis || x.dims[j] == y.dims[j], "Concat: input %d has %ld elements along axis %d, not %ld", i,
                 x.dims[j], j, y.dims[j]);
    }
    PW_REQUIRE(checked_add(length, x.dims[axis], &length), "Concat: the inputs are larger than memory can be");
  }
  PW_REQUIRE(length == y.dims[axis], "Concat: the inputs make %ld elements along axis %d, not %ld", length, axis,
             y.dims[axis]);
  return kOkStatus;
}

Status run_concat(const KernelArgs& args) {
  const int axis = args.params_as<ConcatParams>().axis;
  const TensorView& y = args.outputs[0];
  int64_t base = 0;
  for (int i = 0; i < args.core_inputs; ++i) {
    const TensorView& x = args.inputs[i];
    copy_box(args, Box(x), x, 0, x.strides, y, base, y.strides);
    base += x.dims[axis] * y.strides[axis];
  }
  return kOkStatus;
}

Status validate_tile(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  PW_RETURN_IF_ERROR(require_same_type(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(x.rank == y.rank, "Tile: ranks %d and %d differ", x.rank, y.rank);
  for (int i = 0; i < x.rank; ++i) {
    PW_REQUIRE(x.dims[i] == 0 ? y.dims[i] == 0 : y.dims[i] % x.dims[i] == 0,
               "Tile: %ld elements along axis %d cannot repeat to %ld", x.dims[i], i, y.dims[i]);
  }
  return kOkStatus;
}

Status run_tile(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for_each_position(args, Box(y), [&](const Position& at, int) {
    int64_t from = 0;
    for (int i = 0; i < x.rank; ++i) from += at.at[i] % x.dims[i] * x.strides[i];
    copy_element(size_of(y.dtype), x.data, from, y.data, at.offset(y));
  });
  return kOkStatus;
}

Status validate_copy(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  return require_same(args);
}

Status run_copy(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  copy_box(args, Box(y), x, 0, x.strides, y, 0, y.strides);
  return kOkStatus;
}

Status validate_bit_cast(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(bit_width(x.dtype) == bit_width(y.dtype), "BitCast: %s and %s are not of one width", name_of(x.dtype),
             name_of(y.dtype));
  return require_dims(args, 0, x.dims, x.rank);
}

Status run_bit_cast(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (y.dtype != DType::kBool && bit_width(y.dtype) >= 8) return run_copy(args);
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const auto byte = read_element<uint8_t>(x.data, at.offset(x));
    write_element(y.data, at.offset(y), byte_of_bits(y.dtype, byte));
  });
  return kOkStatus;
}

Status validate_reverse_sequence(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<ReverseSequenceParams>();
  const TensorView &x = args.inputs[0], &lengths = args.inputs[1];
  PW_RETURN_IF_ERROR(require_axis(args, params.batch_axis, x.rank));
  PW_RETURN_IF_ERROR(require_axis(args, params.time_axis, x.rank));
  PW_REQUIRE(params.batch_axis != params.time_axis, "ReverseSequence: axis %d is both batch and time",
             params.time_axis);
  PW_RETURN_IF_ERROR(require_indices(args, 1));
  PW_REQUIRE(lengths.rank == 1 && lengths.dims[0] == x.dims[params.batch_axis],
             "ReverseSequence: one length for each of %ld sequences is needed", x.dims[params.batch_axis]);
  return require_same(args);
}

Status run_reverse_sequence(const KernelArgs& args) {
  const auto& params = args.params_as<ReverseSequenceParams>();
  const TensorView &x = args.inputs[0], &lengths = args.inputs[1], &y = args.outputs[0];
  const int64_t times = x.dims[params.time_axis];
  for (int64_t i = 0; i < lengths.dims[0]; ++i) {
    const int64_t length = load<int64_t>(lengths, i * lengths.strides[0]);
    if (length < 0 || length > times) {
      return error(StatusCode::kPrecondition, "ReverseSequence: length %ld of sequence %ld is outside 0 to %ld", length,
                   i, times);
    }
  }
  for_each_position(args, Box(y), [&](const Position& at, int) {
    const int64_t length = load<int64_t>(lengths, at.at[params.batch_axis] * lengths.strides[0]);
    const int64_t time = at.at[params.time_axis];
    const int64_t from_time = time < length ? length - 1 - time : time;
    copy_element(size_of(y.dtype), x.data, at.offset(x) + (from_time - time) * x.strides[params.time_axis], y.data,
                 at.offset(y));
  });
  return kOkStatus;
}

}  // namespace planwright::reference
