#include "builder/onnx/program_builder.h"

#include <stdexcept>

#include "builder/onnx/elements.h"
#include "schemas/types/minifloat.h"

namespace planwright::builder::importer {
namespace {

bool is_float_class(PwClass type) { return type == PwClass::kFloat || type == PwClass::kDouble; }

}  // namespace

Reg ProgramBuilder::append(PwInstr instruction) {
  if (registers_ >= kMaxPwRegisters) throw std::logic_error("an importer's program needs too many registers");
  instruction.dst = registers_++;
  instructions_.push_back(instruction);
  return {instruction.dst, instruction.type};
}

Reg ProgramBuilder::load(DType dtype) {
  PwInstr instruction;
  instruction.op = PwOp::kLoad;
  instruction.type = class_of(dtype);
  instruction.operand = operands_++;
  return append(instruction);
}

Reg ProgramBuilder::load_as(DType dtype, PwClass type) { return convert(load(dtype), type); }

Reg ProgramBuilder::constant(PwClass type, double value) {
  if (!is_float_class(type)) return constant_int(type, saturated(value));
  PwInstr instruction;
  instruction.op = PwOp::kConst;
  instruction.type = type;
  instruction.imm_f = value;
  return append(instruction);
}

Reg ProgramBuilder::constant_int(PwClass type, int64_t value) {
  if (is_float_class(type)) return constant(type, static_cast<double>(value));
  PwInstr instruction;
  instruction.op = PwOp::kConst;
  instruction.type = type;
  instruction.imm_i = value;
  return append(instruction);
}

Reg ProgramBuilder::accumulator() {
  PwInstr instruction;
  instruction.op = PwOp::kAcc;
  return append(instruction);
}

Reg ProgramBuilder::apply(PwOp op, Reg a) { return apply(op, a, {0, a.type}, {0, a.type}); }

Reg ProgramBuilder::apply(PwOp op, Reg a, Reg b) { return apply(op, a, b, {0, a.type}); }

Reg ProgramBuilder::apply(PwOp op, Reg a, Reg b, Reg c) {
  if (a.type != b.type || a.type != c.type) throw std::logic_error("an importer's program mixes classes");
  PwInstr instruction;
  instruction.op = op;
  instruction.type = a.type;
  instruction.a = a.index;
  instruction.b = b.index;
  instruction.c = c.index;
  return append(instruction);
}

Reg ProgramBuilder::convert(Reg a, PwClass type) {
  if (a.type == type) return a;
  PwInstr instruction;
  instruction.op = PwOp::kConvert;
  instruction.type = type;
  instruction.a = a.index;
  instruction.from = a.type;
  return append(instruction);
}

Reg ProgramBuilder::narrow(Reg a, DType dtype) {
  PwInstr instruction;
  instruction.op = PwOp::kNarrow;
  instruction.type = a.type;
  instruction.a = a.index;
  instruction.operand = static_cast<uint8_t>(dtype);
  return append(instruction);
}

Reg ProgramBuilder::saturate(Reg a, DType dtype) {
  const auto greatest = static_cast<double>(greatest_of_minifloat(dtype));
  // The powers of two have no negative numbers and no zero.
  const double least = dtype == DType::kF8E8M0 ? 0x1p-127 : -greatest;
  return apply(PwOp::kMin, apply(PwOp::kMax, a, constant(a.type, least)), constant(a.type, greatest));
}

Reg ProgramBuilder::is_infinite(Reg a, bool positive, bool negative) {
  PwInstr instruction;
  instruction.op = PwOp::kIsInf;
  instruction.type = a.type;
  instruction.a = a.index;
  instruction.operand = static_cast<uint8_t>((positive ? 1 : 0) | (negative ? 2 : 0));
  return append(instruction);
}

Reg ProgramBuilder::fit(Reg a, DType dtype) {
  const PwClass to = class_of(dtype);
  if (dtype == DType::kBool) return convert(narrow(a, DType::kBool), to);
  if (is_float(dtype) && size_of(dtype) < sizeof(float)) {
    // Through float, a double or a large integer would be rounded twice.
    if (a.type == PwClass::kFloat) return a;
    return convert(narrow(convert(a, PwClass::kDouble), dtype), to);
  }
  // A float below zero becomes a negative integer, which then wraps, as C's conversions of two's complement do.
  if (to == PwClass::kUint && is_float_class(a.type) && dtype != DType::kU64) a = convert(a, PwClass::kInt);
  return convert(a, to);
}

void ProgramBuilder::store(Reg a, DType dtype) {
  const Reg held = fit(a, dtype);
  PwInstr instruction;
  instruction.op = PwOp::kStore;
  instruction.type = held.type;
  instruction.a = held.index;
  instruction.operand = outputs_++;
  instructions_.push_back(instruction);
}

}  // namespace planwright::builder::importer
