#include "tactics/kernels/kernel.h"

#include "schemas/types/checked.h"
#include "tactics/kernels/custom.h"

namespace planwright {
namespace {

// More elements or bytes than a process can address; small products and sums of such numbers still fit into int64.
constexpr int64_t kMostElements = int64_t{1} << 48;

// Also for dims that repeat: how much scratch a kernel needs may depend on them.
Status validate_view(const TensorView& view, const char* what, int index) {
  if (!is_valid(view.dtype)) return error(StatusCode::kInvalid, "%s %d has an unknown element type", what, index);
  if (view.rank < 0 || view.rank > kMaxRank) {
    return error(StatusCode::kInvalid, "%s %d has rank %d, the most is %d", what, index, view.rank, kMaxRank);
  }
  int64_t count = 1;
  int64_t bytes = static_cast<int64_t>(size_of(view.dtype));
  for (int axis = 0; axis < view.rank; ++axis) {
    const int64_t dim = view.dims[axis];
    int64_t span;
    if (dim < 0 || view.strides[axis] < 0) {
      return error(StatusCode::kInvalid, "%s %d has dim %ld with stride %ld at axis %d, neither may be negative", what,
                   index, dim, view.strides[axis], axis);
    }
    // Dims of 0 are left out, so that no partial product over any of the axes overflows either.
    if (dim == 0) continue;
    if (!checked_mul(count, dim, &count) || count > kMostElements || !checked_mul(dim - 1, view.strides[axis], &span) ||
        !checked_mul(span, static_cast<int64_t>(size_of(view.dtype)), &span) || !checked_add(bytes, span, &bytes) ||
        bytes > kMostElements) {
      return error(StatusCode::kInvalid, "%s %d is larger than memory can be", what, index);
    }
  }
  return kOkStatus;
}

// Whether the operator means something without the operand: see the operand lists of op.h.
bool may_be_absent_input(OpKind op, int input) { return input >= arity_of(op).min_inputs && op != OpKind::kConcat; }
bool may_be_absent_output(OpKind op, int output) {
  // A recurrent network may be asked for its last state only; every output of a program is stored.
  return op == OpKind::kRnn || (output >= arity_of(op).min_outputs && op != OpKind::kPointwise);
}

Status validate_operands(const KernelArgs& args) {
  const Arity arity = arity_of(args.op);
  if (args.core_inputs < arity.min_inputs || args.core_inputs > args.input_count ||
      (arity.max_inputs >= 0 && args.core_inputs > arity.max_inputs) || args.output_count < arity.min_outputs ||
      args.output_count > arity.max_outputs) {
    return error(StatusCode::kInvalid, "%s cannot have %d inputs and %d outputs", name_of(args.op), args.core_inputs,
                 args.output_count);
  }
  for (int i = 0; i < args.input_count; ++i) {
    const TensorView& input = args.inputs[i];
    if (input.absent) {
      if (i < args.core_inputs && may_be_absent_input(args.op, i)) continue;
      return error(StatusCode::kInvalid, "%s needs its input %d", name_of(args.op), i);
    }
    PW_RETURN_IF_ERROR(validate_view(input, "input", i));
  }
  for (int i = 0; i < args.output_count; ++i) {
    const TensorView& output = args.outputs[i];
    if (output.absent) {
      if (may_be_absent_output(args.op, i)) continue;
      return error(StatusCode::kInvalid, "%s needs its output %d", name_of(args.op), i);
    }
    PW_RETURN_IF_ERROR(validate_view(output, "output", i));
    if (element_count(output) == 0) continue;  // dense strides of an empty tensor are 0 where they cross its empty axis
    for (int axis = 0; axis < output.rank; ++axis) {
      if (output.dims[axis] > 1 && output.strides[axis] == 0) {
        return error(StatusCode::kInvalid, "output %d repeats its elements along axis %d", i, axis);
      }
    }
  }
  return kOkStatus;
}

bool is_broadcastable(const TensorView& operand, const TensorView& output) {
  if (operand.rank > output.rank) return false;
  for (int i = 1; i <= operand.rank; ++i) {
    const int64_t dim = operand.dims[operand.rank - i];
    if (dim != 1 && dim != output.dims[output.rank - i]) return false;
  }
  return true;
}

Status validate_program(const KernelArgs& args) {
  const bool pointwise = args.op == OpKind::kPointwise;
  const int operands = args.input_count - args.core_inputs;
  if (args.program_size == 0 && !pointwise) {
    if (operands == 0) return kOkStatus;
    return error(StatusCode::kInvalid, "%s has %d operands for a program it does not carry", name_of(args.op),
                 operands);
  }
  if (!pointwise && !takes_epilogue(args.op)) {
    return error(StatusCode::kInvalid, "%s cannot carry a program", name_of(args.op));
  }
  if (pointwise && args.core_inputs != 0) {
    return error(StatusCode::kInvalid, "Pointwise: all inputs belong to its program, not %d of its own",
                 args.core_inputs);
  }
  if (!is_valid_program(args.program, args.program_size, operands, args.output_count, !pointwise)) {
    return error(StatusCode::kInvalid, "%s carries a program that is not valid for %d operands and %d outputs",
                 name_of(args.op), operands, args.output_count);
  }
  for (int i = args.core_inputs; i < args.input_count; ++i) {
    if (!is_broadcastable(args.inputs[i], args.outputs[0])) {
      return error(StatusCode::kInvalid, "%s: input %d does not broadcast to the output's dims", name_of(args.op), i);
    }
  }
  for (int i = 1; i < args.output_count; ++i) {
    if (!same_dims(args.outputs[i], args.outputs[0])) {
      return error(StatusCode::kInvalid, "%s: outputs 0 and %d differ in their dims", name_of(args.op), i);
    }
  }
  return kOkStatus;
}

// The first thing checked about params, because the number of scalars depends on it.
Status validate_params(const KernelArgs& args) {
  const uint32_t size = args.custom != nullptr ? args.custom->functions.parameter_bytes : params_size_of(args.op);
  if (args.params_size != size || (args.params_size != 0 && args.params == nullptr) ||
      reinterpret_cast<uintptr_t>(args.params) % 8 != 0) {
    return error(StatusCode::kInvalid, "%s has %u bytes of attributes, not %u aligned ones", name_of(args.op),
                 args.params_size, size);
  }
  const int rank = args.core_inputs > 0 && !args.inputs[0].absent ? args.inputs[0].rank : 0;
  const int expected = scalar_count_of(args.op, args.params, rank);
  if (args.scalar_count < 0 || args.scalar_count != expected || (expected > 0 && args.scalars == nullptr)) {
    return error(StatusCode::kInvalid, "%s has %d scalars where %d are expected", name_of(args.op), args.scalar_count,
                 expected);
  }
  return kOkStatus;
}

}  // namespace

int64_t element_count(const TensorView& view) {
  int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.dims[axis];
  return count;
}

bool is_dense(const TensorView& view) {
  if (element_count(view) == 0) return true;
  int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.dims[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.dims[axis];
  }
  return true;
}

bool same_dims(const TensorView& a, const TensorView& b) {
  if (a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.dims[axis] != b.dims[axis]) return false;
  }
  return true;
}

Status validate_common(const KernelArgs& args) {
  if (!is_valid(args.op)) return error(StatusCode::kInvalid, "unknown operator %d", static_cast<int>(args.op));
  PW_RETURN_IF_ERROR(validate_operands(args));
  PW_RETURN_IF_ERROR(validate_params(args));
  return validate_program(args);
}

void broadcast_strides(const TensorView& operand, const TensorView& output, int64_t strides[kMaxRank]) {
  const int missing = output.rank - operand.rank;
  for (int axis = 0; axis < kMaxRank; ++axis) strides[axis] = 0;
  for (int axis = 0; axis < operand.rank; ++axis) {
    if (operand.dims[axis] != 1) strides[axis + missing] = operand.strides[axis];
  }
}

}  // namespace planwright
