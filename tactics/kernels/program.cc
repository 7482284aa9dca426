#include "tactics/kernels/program.h"

namespace planwright {
namespace {

bool is_valid(PwClass type) { return type <= PwClass::kUint; }
bool is_integer(PwClass type) { return type == PwClass::kInt || type == PwClass::kUint; }

// Whether the operation means something in the class.
bool is_defined_in(PwOp op, PwClass type) {
  switch (op) {
    case PwOp::kReciprocal:
    case PwOp::kSqrt:
    case PwOp::kExp:
    case PwOp::kLog:
    case PwOp::kErf:
    case PwOp::kTanh:
    case PwOp::kSigmoid:
    case PwOp::kFloor:
    case PwOp::kCeil:
    case PwOp::kRoundEven:
    case PwOp::kSin:
    case PwOp::kCos:
    case PwOp::kTan:
    case PwOp::kAsin:
    case PwOp::kAcos:
    case PwOp::kAtan:
    case PwOp::kSinh:
    case PwOp::kCosh:
    case PwOp::kAsinh:
    case PwOp::kAcosh:
    case PwOp::kAtanh:
    case PwOp::kIsNan:
    case PwOp::kIsInf: return !is_integer(type);
    case PwOp::kBitNot:
    case PwOp::kBitAnd:
    case PwOp::kBitOr:
    case PwOp::kBitXor:
    case PwOp::kShiftLeft:
    case PwOp::kShiftRight: return is_integer(type);
    default: return true;
  }
}

// What is_valid_program knows of a register after the instructions so far.
struct Register {
  bool written = false;
  PwClass type = PwClass::kFloat;
};

bool holds(const Register* registers, uint8_t index, PwClass type) {
  return index < kMaxPwRegisters && registers[index].written && registers[index].type == type;
}

bool reads_are_valid(const PwInstr& instr, const Register* registers) {
  const int reads = reads_of(instr.op);
  const PwClass type_of_a = instr.op == PwOp::kConvert ? instr.from : instr.type;
  return (reads < 1 || holds(registers, instr.a, type_of_a)) && (reads < 2 || holds(registers, instr.b, instr.type)) &&
         (reads < 3 || holds(registers, instr.c, instr.type));
}

bool operand_is_valid(const PwInstr& instr, int operands, int outputs, bool has_accumulator) {
  switch (instr.op) {
    case PwOp::kLoad: return instr.operand < operands;
    case PwOp::kStore: return instr.operand < outputs;
    case PwOp::kAcc: return has_accumulator;
    case PwOp::kConvert: return is_valid(instr.from);
    case PwOp::kNarrow: return is_valid(static_cast<DType>(instr.operand));
    case PwOp::kIsInf: return instr.operand <= 3;
    default: return true;
  }
}

}  // namespace

const char* name_of(PwOp op) {
  switch (op) {
    case PwOp::kLoad: return "load";
    case PwOp::kConst: return "const";
    case PwOp::kAcc: return "acc";
    case PwOp::kStore: return "store";
    case PwOp::kConvert: return "convert";
    case PwOp::kNarrow: return "narrow";
    case PwOp::kNeg: return "neg";
    case PwOp::kAbs: return "abs";
    case PwOp::kSign: return "sign";
    case PwOp::kReciprocal: return "reciprocal";
    case PwOp::kSqrt: return "sqrt";
    case PwOp::kExp: return "exp";
    case PwOp::kLog: return "log";
    case PwOp::kErf: return "erf";
    case PwOp::kTanh: return "tanh";
    case PwOp::kSigmoid: return "sigmoid";
    case PwOp::kFloor: return "floor";
    case PwOp::kCeil: return "ceil";
    case PwOp::kRoundEven: return "round_even";
    case PwOp::kSin: return "sin";
    case PwOp::kCos: return "cos";
    case PwOp::kTan: return "tan";
    case PwOp::kAsin: return "asin";
    case PwOp::kAcos: return "acos";
    case PwOp::kAtan: return "atan";
    case PwOp::kSinh: return "sinh";
    case PwOp::kCosh: return "cosh";
    case PwOp::kAsinh: return "asinh";
    case PwOp::kAcosh: return "acosh";
    case PwOp::kAtanh: return "atanh";
    case PwOp::kNot: return "not";
    case PwOp::kBitNot: return "bit_not";
    case PwOp::kIsNan: return "is_nan";
    case PwOp::kIsInf: return "is_inf";
    case PwOp::kAdd: return "add";
    case PwOp::kSub: return "sub";
    case PwOp::kMul: return "mul";
    case PwOp::kDiv: return "div";
    case PwOp::kMin: return "min";
    case PwOp::kMax: return "max";
    case PwOp::kPow: return "pow";
    case PwOp::kModFloor: return "mod_floor";
    case PwOp::kModTrunc: return "mod_trunc";
    case PwOp::kEqual: return "equal";
    case PwOp::kLess: return "less";
    case PwOp::kLessEqual: return "less_equal";
    case PwOp::kAnd: return "and";
    case PwOp::kOr: return "or";
    case PwOp::kXor: return "xor";
    case PwOp::kBitAnd: return "bit_and";
    case PwOp::kBitOr: return "bit_or";
    case PwOp::kBitXor: return "bit_xor";
    case PwOp::kShiftLeft: return "shift_left";
    case PwOp::kShiftRight: return "shift_right";
    case PwOp::kSelect: return "select";
    case PwOp::kMulAdd: return "mul_add";
  }
  return "?";
}

bool is_valid_program(const PwInstr* instructions, int count, int operands, int outputs, bool has_accumulator) {
  if (count < 1 || count > kMaxPwInstructions || operands < 0 || operands > kMaxPwOperands || outputs < 1 ||
      outputs > kMaxPwOutputs) {
    return false;
  }
  Register registers[kMaxPwRegisters];
  bool stored[kMaxPwOutputs] = {};
  for (int i = 0; i < count; ++i) {
    const PwInstr& instr = instructions[i];
    if (!is_valid(instr.op) || !is_valid(instr.type) || !is_defined_in(instr.op, instr.type) ||
        !operand_is_valid(instr, operands, outputs, has_accumulator) || !reads_are_valid(instr, registers)) {
      return false;
    }
    if (instr.op == PwOp::kStore) {
      if (stored[instr.operand]) return false;
      stored[instr.operand] = true;
    } else {
      if (instr.dst >= kMaxPwRegisters) return false;
      registers[instr.dst] = {true, instr.type};
    }
  }
  for (int i = 0; i < outputs; ++i) {
    if (!stored[i]) return false;
  }
  return true;
}

}  // namespace planwright
