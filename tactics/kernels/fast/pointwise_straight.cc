#include "tactics/kernels/fast/pointwise_straight.h"

namespace planwright {
namespace {

// What a register holds, as far as it is still straight.
struct Value {
  enum class Kind : uint8_t { kOther, kConstant, kExpression } kind = Kind::kOther;
  float constant = 0;
  StraightProgram program;

  bool is_constant() const { return kind == Kind::kConstant; }
  bool is_expression() const { return kind == Kind::kExpression; }
  bool is_operand() const { return is_expression() && program.first == StraightOp::kNone && !program.clamps; }
  bool takes_another() const { return is_expression() && program.second == StraightOp::kNone && !program.clamps; }
};

StraightOp straight_op(PwOp op) {
  switch (op) {
    case PwOp::kAdd: return StraightOp::kAdd;
    case PwOp::kSub: return StraightOp::kSub;
    case PwOp::kMul: return StraightOp::kMul;
    default: return StraightOp::kNone;
  }
}

// left op operand
Value join(const Value& left, StraightOp op, const Value& operand) {
  Value joined = left;
  StraightProgram& program = joined.program;
  if (program.first == StraightOp::kNone) {
    program.first = op;
    program.operands[1] = operand.program.operands[0];
  } else if (program.first == StraightOp::kMulAdd) {
    return {};
  } else {
    program.second = op;
    program.operands[2] = operand.program.operands[0];
  }
  return joined;
}

Value arithmetic(StraightOp op, const Value& a, const Value& b) {
  if (a.takes_another() && b.is_operand()) return join(a, op, b);
  // What is left of - stays there.
  if (op != StraightOp::kSub && b.takes_another() && a.is_operand()) return join(b, op, a);
  return {};
}

// max(expression, constant) or min; a maximum after a minimum is the same clamp only where the limits are in order.
Value clamp(PwOp op, const Value& a, const Value& b) {
  const Value& expression = a.is_constant() ? b : a;
  const Value& limit = a.is_constant() ? a : b;
  if (!expression.is_expression() || !limit.is_constant() || limit.constant != limit.constant) return {};
  Value clamped = expression;
  StraightProgram& program = clamped.program;
  program.clamps = true;
  if (op == PwOp::kMax) {
    if (limit.constant > program.high) return {};
    if (limit.constant > program.low) program.low = limit.constant;
  } else {
    if (limit.constant < program.low) return {};
    if (limit.constant < program.high) program.high = limit.constant;
  }
  return clamped;
}

Value multiply_add(const Value& a, const Value& b, const Value& c) {
  if (!a.is_operand() || !b.is_operand() || !c.is_operand()) return {};
  Value value = a;
  value.program.first = StraightOp::kMulAdd;
  value.program.operands[1] = b.program.operands[0];
  value.program.operands[2] = c.program.operands[0];
  return value;
}

Value evaluate(const PwInstr& instr, const Value* registers) {
  Value value;
  switch (instr.op) {
    case PwOp::kLoad:
      value.kind = Value::Kind::kExpression;
      value.program.operands[0] = instr.operand;
      return value;
    case PwOp::kConst:
      value.kind = Value::Kind::kConstant;
      value.constant = static_cast<float>(instr.imm_f);
      return value;
    case PwOp::kAdd:
    case PwOp::kSub:
    case PwOp::kMul: return arithmetic(straight_op(instr.op), registers[instr.a], registers[instr.b]);
    case PwOp::kMin:
    case PwOp::kMax: return clamp(instr.op, registers[instr.a], registers[instr.b]);
    case PwOp::kMulAdd: return multiply_add(registers[instr.a], registers[instr.b], registers[instr.c]);
    default: return value;
  }
}

}  // namespace

bool match_straight_program(const PwInstr* instructions, int count, StraightProgram* straight) {
  Value registers[kMaxPwRegisters];
  for (int i = 0; i < count; ++i) {
    const PwInstr& instr = instructions[i];
    if (instr.op == PwOp::kStore) {
      *straight = registers[instr.a].program;
      return i == count - 1 && registers[instr.a].is_expression();
    }
    registers[instr.dst] = evaluate(instr, registers);
  }
  return false;
}

}  // namespace planwright
