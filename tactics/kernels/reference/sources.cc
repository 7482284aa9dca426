#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {

Status validate_fill(const KernelArgs& args) { return validate_common(args); }

Status run_fill(const KernelArgs& args) {
  const TensorView& y = args.outputs[0];
  const uint64_t bits = args.params_as<FillParams>().value_bits;
  for_each_position(args, Box(y),
                    [&](const Position& at, int) { copy_element(size_of(y.dtype), &bits, 0, y.data, at.offset(y)); });
  return kOkStatus;
}

Status validate_range(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView& y = args.outputs[0];
  for (int i = 0; i < 2; ++i) {
    PW_REQUIRE(element_count(args.inputs[i]) == 1 && args.inputs[i].dtype == y.dtype,
               "Range: start and delta must be one %s element each", name_of(y.dtype));
  }
  PW_REQUIRE(y.rank == 1, "Range: the output has rank %d, not 1", y.rank);
  return kOkStatus;
}

Status run_range(const KernelArgs& args) {
  const TensorView& y = args.outputs[0];
  with_accumulator(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T start = load<T>(args.inputs[0], 0), delta = load<T>(args.inputs[1], 0);
    for_each_position(args, Box(y), [&](const Position& at, int) {
      store(y, at.offset(y), add(start, multiply(static_cast<T>(at.at[0]), delta)));
    });
  });
  return kOkStatus;
}

Status validate_shape_values(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView& y = args.outputs[0];
  PW_REQUIRE(y.dtype == DType::kI64 && y.rank <= 1 && element_count(y) == args.scalar_count,
             "ShapeValues: the output must be %d int64 elements", args.scalar_count);
  return kOkStatus;
}

Status run_shape_values(const KernelArgs& args) {
  const TensorView& y = args.outputs[0];
  for (int64_t i = 0; i < args.scalar_count; ++i) y.as<int64_t>()[y.rank == 0 ? 0 : i * y.strides[0]] = args.scalars[i];
  return kOkStatus;
}

}  // namespace planwright::reference
