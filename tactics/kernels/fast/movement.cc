// Operators that move elements of any type, as strided copies. Plain C++: memory sets the pace, and memcpy knows it.
#include "tactics/kernels/fast/movement_plan.h"
#include "tactics/kernels/registry.h"

namespace planwright {
namespace {

Status validate_movement(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(args.op).validate(args));
  const DType to = args.outputs[0].dtype;
  if (args.op == OpKind::kBitCast && (to == DType::kBool || bit_width(to) < 8)) {
    return error(StatusCode::kUnsupported, "bits of %s are not its bytes", name_of(to));
  }
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

constexpr KernelDescriptor make(const char* name, OpKind op) {
  return {.name = name,
          .revision = 1,
          .op = op,
          .isa = Isa::kReference,
          .validate = validate_movement,
          .run = run_movement};
}

constexpr KernelDescriptor kKernels[] = {
    make("movement_copy", OpKind::kCopy),       make("movement_expand", OpKind::kExpand),
    make("movement_reshape", OpKind::kReshape), make("movement_transpose", OpKind::kTranspose),
    make("movement_slice", OpKind::kSlice),     make("movement_tile", OpKind::kTile),
    make("movement_concat", OpKind::kConcat),   make("movement_bit_cast", OpKind::kBitCast),
};

}  // namespace

extern const KernelTable movement_table;
const KernelTable movement_table = {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};

}  // namespace planwright
