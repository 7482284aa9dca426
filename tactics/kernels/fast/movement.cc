// Operators that move elements of any type, as strided copies. Plain C++: memory sets the pace, and memcpy knows it.
#include "tactics/kernels/fast/movement_plan.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

Status validate_movement(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(args.op).validate(args));
  StridedCopy copy;
  for (int input = 0; input < args.core_inputs; ++input) PW_RETURN_IF_ERROR(plan_movement(args, input, &copy));
  return kOkStatus;
}

Status run_movement(const KernelArgs& args) {
  for (int input = 0; input < args.core_inputs; ++input) {
    StridedCopy copy;
    PW_RETURN_IF_ERROR(plan_movement(args, input, &copy));
    strided_copy(*args.executor, copy);
  }
  return kOkStatus;
}

Status validate_pad(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kPad).validate(args));
  if (args.params_as<PadParams>().mode != PadMode::kConstant) return error(StatusCode::kUnsupported, "not constant");
  return kOkStatus;
}

Status run_pad(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (element_count(y) == 0) return kOkStatus;
  const uint64_t zero = 0;
  const bool has_value = args.input_count > 1 && !args.inputs[1].absent;
  strided_fill(*args.executor, y, has_value ? args.inputs[1].data : &zero);
  int64_t from = 0, to = 0, dims[kMaxRank], strides[2][kMaxRank];
  for (int axis = 0; axis < y.rank; ++axis) {
    const int64_t begin = args.scalars[axis], from_start = begin < 0 ? -begin : 0, to_start = begin > 0 ? begin : 0;
    const int64_t left = x.dims[axis] - from_start, room = y.dims[axis] - to_start;
    dims[axis] = left < room ? left : room;
    if (dims[axis] <= 0) return kOkStatus;  // nothing of x is left
    from += from_start * x.strides[axis];
    to += to_start * y.strides[axis];
    strides[0][axis] = y.strides[axis];
    strides[1][axis] = x.strides[axis];
  }
  const int64_t size = static_cast<int64_t>(size_of(y.dtype));
  strided_copy(*args.executor, {make_loop_nest(y.rank, dims, 2, strides), y.as<std::byte>() + to * size,
                                x.as<const std::byte>() + from * size, size, nullptr});
  return kOkStatus;
}

constexpr KernelDescriptor make(const char* name, OpKind op, Status (*validate)(const KernelArgs&) = validate_movement,
                                Status (*run)(const KernelArgs&) = run_movement) {
  return {name, 1, op, Isa::kReference, 0, validate, nullptr, nullptr, nullptr, nullptr, run, nullptr};
}

constexpr KernelDescriptor kKernels[] = {
    make("movement_copy", OpKind::kCopy),       make("movement_expand", OpKind::kExpand),
    make("movement_reshape", OpKind::kReshape), make("movement_transpose", OpKind::kTranspose),
    make("movement_slice", OpKind::kSlice),     make("movement_tile", OpKind::kTile),
    make("movement_concat", OpKind::kConcat),   make("movement_pad", OpKind::kPad, validate_pad, run_pad),
};

}  // namespace

extern const KernelTable movement_table;
const KernelTable movement_table = {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};

}  // namespace planwright
