// NonZero, and reading values that become shapes.
#include "tactics/kernels/reference/indices.h"

namespace planwright::reference {

Status validate_read_values(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(!is_float(x.dtype) && y.dtype == DType::kI64, "ReadValues: %s to %s, not an integer to int64",
             name_of(x.dtype), name_of(y.dtype));
  return require_dims(args, 0, x.dims, x.rank);
}

Status run_read_values(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  for_each_position(args, Box(y),
                    [&](const Position& at, int) { store(y, at.offset(y), load<int64_t>(x, at.offset(x))); });
  return kOkStatus;
}

Status validate_non_zero(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  PW_REQUIRE(y.dtype == DType::kI64 && y.rank == 2 && y.dims[0] == x.rank,
             "NonZero: the output must be int64 of %d rows, one an axis", x.rank);
  return kOkStatus;
}

// In row-major order of x. What was counted may have changed since: never a column too many.
Status run_non_zero(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t found = 0;
  with_accumulator(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_position_in_order(Box(x), [&](const Position& at) {
      const T value = load<T>(x, at.offset(x));
      if (value == T(0)) return;
      for (int axis = 0; axis < x.rank && found < y.dims[1]; ++axis) {
        store(y, axis * y.strides[0] + found * y.strides[1], at.at[axis]);
      }
      ++found;
    });
  });
  if (found == y.dims[1]) return kOkStatus;
  return error(StatusCode::kPrecondition, "NonZero: %ld elements are not 0, %ld were counted before", found, y.dims[1]);
}

}  // namespace planwright::reference
