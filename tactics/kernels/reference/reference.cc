#include "tactics/kernels/reference/reference.h"

namespace planwright::reference {

Status require_same_type(const KernelArgs& args) {
  PW_REQUIRE(args.outputs[0].dtype == args.inputs[0].dtype, "%s: the input is %s but the output is %s",
             name_of(args.op), name_of(args.inputs[0].dtype), name_of(args.outputs[0].dtype));
  return kOkStatus;
}

Status require_same(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(require_same_type(args));
  return require_dims(args, 0, args.inputs[0].dims, args.inputs[0].rank);
}

Status require_axis(const KernelArgs& args, int axis, int rank) {
  PW_REQUIRE(axis >= 0 && axis < rank, "%s: axis %d is outside a tensor of rank %d", name_of(args.op), axis, rank);
  return kOkStatus;
}

Status require_dims(const KernelArgs& args, int index, const int64_t* dims, int rank) {
  const TensorView& output = args.outputs[index];
  PW_REQUIRE(output.rank == rank, "%s: output %d has rank %d, not %d", name_of(args.op), index, output.rank, rank);
  for (int axis = 0; axis < rank; ++axis) {
    PW_REQUIRE(output.dims[axis] == dims[axis], "%s: output %d has %ld elements along axis %d, not %ld",
               name_of(args.op), index, output.dims[axis], axis, dims[axis]);
  }
  return kOkStatus;
}

Status require_indices(const KernelArgs& args, int index) {
  const DType type = args.inputs[index].dtype;
  PW_REQUIRE(type == DType::kI32 || type == DType::kI64, "%s: indices cannot be %s", name_of(args.op), name_of(type));
  return kOkStatus;
}

}  // namespace planwright::reference
