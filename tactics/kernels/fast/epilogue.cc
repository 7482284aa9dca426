#include "tactics/kernels/fast/epilogue.h"

#include "tactics/kernels/fast/flush_denormals.h"

namespace planwright::fast {
namespace {

// Tells bias and residual apart by their strides; false where an added operand is neither.
bool assign_added(const StraightEpilogue& straight, Epilogue* epilogue) {
  for (const int index : straight.added) {
    if (index < 0) continue;
    const EpilogueOperand& operand = epilogue->operands[index];
    int* role = operand.by_row ? &epilogue->residual : &epilogue->bias;
    if (operand.strides[epilogue->column_axis] != 1 || *role >= 0) return false;
    *role = index;
  }
  return true;
}

EpilogueOperand operand_of(const TensorView& view, const TensorView& output, int column_axis) {
  EpilogueOperand operand;
  operand.data = view.as<const float>();
  operand.type = view.dtype;
  broadcast_strides(view, output, operand.strides);
  // An axis of one element is not walked, whatever the stride there says.
  operand.by_row = false;
  for (int axis = 0; axis < output.rank; ++axis) {
    if (output.dims[axis] == 1 && axis != column_axis) operand.strides[axis] = 0;
    operand.by_row |= axis != column_axis && operand.strides[axis] != 0;
  }
  // Of one column, any stride will do: 1 is the one that runs straight.
  if (output.dims[column_axis] == 1) operand.strides[column_axis] = 1;
  return operand;
}

ByteRole role_of(const EpilogueOperand& operand, int column_axis) {
  const int64_t stride = operand.strides[column_axis];
  if (operand.by_row) return stride == 1 && operand.type != DType::kI32 ? ByteRole::kResidual : ByteRole::kOther;
  return operand.type == DType::kF32 && stride <= 1 ? ByteRole::kColumns : ByteRole::kOther;
}

void interpret(const Epilogue& epilogue, const GemmTier& tier, const EpilogueTile& tile, float* registers) {
  const int rows_at_once = kStripLength / tile.pitch;
  for (int first = 0; first < tile.rows; first += rows_at_once) {
    StripOperand operands[kMaxPwOperands];
    for (int i = 0; i < epilogue.operand_count; ++i) {
      const EpilogueOperand& operand = epilogue.operands[i];
      const int64_t stride = operand.strides[epilogue.column_axis];
      if (operand.by_row) {
        operands[i] = {nullptr, stride, tile.operand_rows + i * tile.operand_step + first, tile.column};
      } else {
        operands[i] = {tile.shared[i] + tile.column * stride, stride};
      }
    }
    const StripOutput output = {nullptr, 1, tile.out + first, tile.column};
    const int rows = tile.rows - first < rows_at_once ? tile.rows - first : rows_at_once;
    tier.run_tile(epilogue.program, operands, tile.sums + first * tile.pitch, &output, {rows, tile.columns, tile.pitch},
                  registers);
  }
}

}  // namespace

void finish_tile(const Epilogue& epilogue, const GemmTier& tier, const EpilogueTile& tile, float* registers) {
  if (!epilogue.straight) {
    // Straight ones are of moderate constants (epilogue_match.cc), which make nothing of what flushing loses.
    const DenormalScope scope(Denormals::kNumbers);
    return interpret(epilogue, tier, tile, registers);
  }
  const float* const* residual =
      epilogue.residual < 0 ? nullptr : tile.operand_rows + epilogue.residual * tile.operand_step;
  tier.finish[static_cast<int>(epilogue.activation.function)]({tile.sums, tile.pitch, tile.rows, tile.columns, tile.out,
                                                               tile.column, tile.bias, residual, epilogue.activation});
}

Status validate_epilogue(const KernelArgs& args, const GemmTier& tier, int column_axis, Storage storage) {
  if (!is_stored(args.outputs[0].dtype, storage)) {
    return error(StatusCode::kUnsupported, "the output is %s, which the kernel does not write",
                 name_of(args.outputs[0].dtype));
  }
  for (int i = args.core_inputs; i < args.input_count; ++i) {
    if (!is_stored(args.inputs[i].dtype, storage)) {
      return error(StatusCode::kUnsupported, "epilogue operand %d is %s, which the kernel does not read",
                   i - args.core_inputs, name_of(args.inputs[i].dtype));
    }
    if (args.inputs[i].dtype == DType::kF32) continue;
    const EpilogueOperand operand = operand_of(args.inputs[i], args.outputs[0], column_axis);
    const int64_t stride = operand.strides[column_axis];
    if (stride != 1 && (storage != Storage::kBytes || stride != 0)) {
      return error(StatusCode::kUnsupported, "epilogue operand %d is in %s, its columns %ld elements apart",
                   i - args.core_inputs, name_of(args.inputs[i].dtype), stride);
    }
  }
  if (storage == Storage::kBytes) return validate_byte_program(args, tier);
  if (!tier.is_strip_program(args.program, args.program_size)) {
    return error(StatusCode::kUnsupported, "the epilogue does not compute in fp32 throughout");
  }
  if (tier.strip_program == nullptr && !make_epilogue(args, tier, column_axis).straight) {
    return error(StatusCode::kUnsupported, "the kernel has no such epilogue");
  }
  return kOkStatus;
}

Epilogue make_epilogue(const KernelArgs& args, const GemmTier& tier, int column_axis, Storage storage) {
  Epilogue epilogue;
  epilogue.column_axis = column_axis;
  epilogue.operand_count = args.input_count - args.core_inputs;
  const TensorView& output = args.outputs[0];
  for (int i = 0; i < epilogue.operand_count; ++i) {
    epilogue.operands[i] = operand_of(args.inputs[args.core_inputs + i], output, column_axis);
  }
  if (storage == Storage::kBytes) {
    epilogue.straight = epilogue.in_registers = false;
    ByteRole roles[kMaxPwOperands];
    for (int i = 0; i < epilogue.operand_count; ++i) roles[i] = role_of(epilogue.operands[i], column_axis);
    epilogue.bytes = match_bytes(args, roles);
    epilogue.program = tier.strip_program(args.program, args.program_size);
    return epilogue;
  }
  StraightEpilogue straight;
  epilogue.straight = match_straight(args.program, args.program_size, &straight) && assign_added(straight, &epilogue);
  epilogue.activation = straight.activation;
  epilogue.in_registers = epilogue.straight && runs_in_registers(epilogue.activation.function);
  if (!epilogue.straight && tier.strip_program != nullptr)
    epilogue.program = tier.strip_program(args.program, args.program_size);
  return epilogue;
}

}  // namespace planwright::fast
