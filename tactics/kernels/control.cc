#include "tactics/kernels/control.h"

#include "tactics/kernels/reference/reference.h"

namespace planwright {
namespace {

Status require_counts(const KernelArgs& args, int32_t inputs, int32_t outputs) {
  PW_REQUIRE(args.input_count == inputs && args.core_inputs == inputs && args.output_count == outputs &&
                 args.scalar_count == 0 && args.program_size == 0 && args.params_size == 0,
             "%s: a step has %d inputs and %d outputs, nothing else", name_of(args.op), inputs, outputs);
  return kOkStatus;
}

Status require_one(const KernelArgs& args, const TensorView& view, DType dtype) {
  PW_REQUIRE(!view.absent && view.dtype == dtype && element_count(view) == 1, "%s: an operand is not one %s",
             name_of(args.op), name_of(dtype));
  return kOkStatus;
}

Status validate_if(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(require_counts(args, 1, 0));
  return require_one(args, args.inputs[0], DType::kBool);
}

Status validate_loop(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(require_counts(args, 2, 1));
  PW_REQUIRE(!args.inputs[0].absent || !args.inputs[1].absent, "Loop: neither a trip count nor a condition ends it");
  if (!args.inputs[0].absent) PW_RETURN_IF_ERROR(require_one(args, args.inputs[0], DType::kI64));
  if (!args.inputs[1].absent) PW_RETURN_IF_ERROR(require_one(args, args.inputs[1], DType::kBool));
  return require_one(args, args.outputs[0], DType::kI64);
}

constexpr KernelDescriptor kKernels[] = {
    {.name = "control_if", .op = OpKind::kIf, .validate = validate_if},
    {.name = "control_loop", .op = OpKind::kLoop, .validate = validate_loop},
};

}  // namespace

const KernelDescriptor& control_descriptor(OpKind op) { return kKernels[op == OpKind::kIf ? 0 : 1]; }

}  // namespace planwright
