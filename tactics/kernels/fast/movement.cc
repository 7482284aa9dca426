// Copy, Concat and constant Pad of any type, as strided copies. Plain C++: memory sets the pace, and memcpy knows it.
#include "tactics/kernels/fast/strided_copy.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

Status validate_copy(const KernelArgs& args) { return reference_kernel(OpKind::kCopy).validate(args); }

Status run_copy(const KernelArgs& args) {
  strided_copy(*args.executor, args.outputs[0], args.inputs[0].data, args.inputs[0].strides);
  return kOkStatus;
}

Status validate_expand(const KernelArgs& args) { return reference_kernel(OpKind::kExpand).validate(args); }

Status run_expand(const KernelArgs& args) {
  int64_t strides[kMaxRank];
  broadcast_strides(args.inputs[0], args.outputs[0], strides);
  strided_copy(*args.executor, args.outputs[0], args.inputs[0].data, strides);
  return kOkStatus;
}

// The part of `view` from `start` on along every axis, `dims` long.
TensorView part_of(const TensorView& view, const int64_t* start, const int64_t* dims) {
  TensorView part = view;
  int64_t offset = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    offset += start[axis] * view.strides[axis];
    part.dims[axis] = dims[axis];
  }
  part.data = view.as<std::byte>() + offset * static_cast<int64_t>(size_of(view.dtype));
  return part;
}

Status validate_concat(const KernelArgs& args) { return reference_kernel(OpKind::kConcat).validate(args); }

Status run_concat(const KernelArgs& args) {
  const int axis = args.params_as<ConcatParams>().axis;
  int64_t start[kMaxRank] = {};
  for (int i = 0; i < args.input_count; ++i) {
    const TensorView& input = args.inputs[i];
    strided_copy(*args.executor, part_of(args.outputs[0], start, input.dims), input.data, input.strides);
    start[axis] += input.dims[axis];
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
  int64_t from[kMaxRank], to[kMaxRank], dims[kMaxRank];
  for (int axis = 0; axis < y.rank; ++axis) {
    const int64_t begin = args.scalars[axis];
    from[axis] = begin < 0 ? -begin : 0;
    to[axis] = begin > 0 ? begin : 0;
    const int64_t left = x.dims[axis] - from[axis], room = y.dims[axis] - to[axis];
    dims[axis] = left < room ? left : room;
    if (dims[axis] <= 0) return kOkStatus;  // nothing of x is left
  }
  strided_copy(*args.executor, part_of(y, to, dims), part_of(x, from, dims).data, x.strides);
  return kOkStatus;
}

constexpr KernelDescriptor make(const char* name, OpKind op, Status (*validate)(const KernelArgs&),
                                Status (*run)(const KernelArgs&)) {
  return {name, 1, op, Isa::kReference, 0, validate, nullptr, nullptr, nullptr, nullptr, run, nullptr};
}

constexpr KernelDescriptor kKernels[] = {
    make("movement_copy", OpKind::kCopy, validate_copy, run_copy),
    make("movement_expand", OpKind::kExpand, validate_expand, run_expand),
    make("movement_concat", OpKind::kConcat, validate_concat, run_concat),
    make("movement_pad", OpKind::kPad, validate_pad, run_pad),
};

}  // namespace

extern const KernelTable movement_table;
const KernelTable movement_table = {kKernels, 4};

}  // namespace planwright
