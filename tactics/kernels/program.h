// Pointwise expression programs: what a Pointwise node computes, and what a contraction runs as its epilogue.
//
// A program is a list of instructions over registers. Each instruction computes in one of four classes (float,
// double, int64, uint64): narrower types are widened when loaded and converted back (floats rounded to nearest even,
// past the largest number to infinity or NaN; integers wrapped) when stored. Fusing two programs is joining their
// lists.
#ifndef PLANWRIGHT_TACTICS_KERNELS_PROGRAM_H_
#define PLANWRIGHT_TACTICS_KERNELS_PROGRAM_H_

#include <cstdint>

#include "schemas/types/dtype.h"

namespace planwright {

// Numbers are in the engine file: only ever add to the end. a, b, c are registers; T is the instruction's class.
enum class PwOp : uint8_t {
  kLoad = 0,  // dst <- operand `operand`, widened to T
  kConst,     // dst <- immediate (imm_f for float and double, imm_i for the integers)
  kAcc,       // dst <- the contraction's value, converted to T (epilogues only; T is float but for fp64 and integers)
  kStore,     // output `operand` <- a, as that output's type; to kBool: a != 0
  kConvert,   // dst <- a converted from class `from` to T: float to integer truncates and saturates at T's limits,
              // NaN gives 0; between the integers it wraps
  kNarrow,    // dst <- a made representable in DType `operand` (wrap integers, round floats), still held in T;
              // to kBool: a != 0

  // ---- one operand
  kNeg = 16,
  kAbs,
  kSign,
  kReciprocal,
  kSqrt,
  kExp,
  kLog,
  kErf,
  kTanh,
  kSigmoid,
  kFloor,
  kCeil,
  kRoundEven,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kNot,  // a == 0
  kBitNot,
  kIsNan,
  kIsInf,  // operand: bit 0 counts +inf, bit 1 counts -inf

  // ---- two operands
  kAdd = 64,
  kSub,
  kMul,
  kDiv,  // integers truncate toward zero; by zero gives 0
  kMin,
  kMax,  // NaN in either gives NaN
  kPow,
  kModFloor,  // sign of the divisor (Python's %)
  kModTrunc,  // sign of the dividend (C's fmod)
  kEqual,
  kLess,
  kLessEqual,  // 1 or 0, in T
  kAnd,
  kOr,
  kXor,  // logical: on a != 0, b != 0
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,  // counts at or past the width give 0

  // ---- three operands
  kSelect = 128,  // a != 0 ? b : c
  kMulAdd,        // a*b + c; only optimisation passes and kernels' own programs use it
};

enum class PwClass : uint8_t { kFloat = 0, kDouble, kInt, kUint };

// The class in which elements of a type are computed: f64 in double, other floats in float; signed integers in int64;
// unsigned and bool in uint64.
constexpr PwClass class_of(DType type) {
  if (type == DType::kF64) return PwClass::kDouble;
  if (is_float(type)) return PwClass::kFloat;
  return is_unsigned(type) ? PwClass::kUint : PwClass::kInt;
}

// At most this many registers and instructions in one program: the interpreter's strips then stay in L1
// (32 strips x 256 floats = 32 KiB), and the fuser stops joining there.
inline constexpr int kMaxPwRegisters = 32;
inline constexpr int kMaxPwInstructions = 96;
inline constexpr int kMaxPwOperands = 16;
inline constexpr int kMaxPwOutputs = 4;

struct PwInstr {
  PwOp op = PwOp::kLoad;
  PwClass type = PwClass::kFloat;
  uint8_t dst = 0;
  uint8_t a = 0, b = 0, c = 0;
  uint8_t operand =
      0;  // kLoad: operand index (after the operator's own inputs); kStore: output; kNarrow, kIsInf: above
  PwClass from = PwClass::kFloat;  // kConvert
  union {
    double imm_f;
    int64_t imm_i;
    uint64_t bits = 0;
  };
};
static_assert(sizeof(PwInstr) == 16);

// Registers an instruction reads: 0 to 3 (a; a, b; a, b, c).
constexpr int reads_of(PwOp op) {
  if (op == PwOp::kLoad || op == PwOp::kConst || op == PwOp::kAcc) return 0;
  const int code = static_cast<int>(op);
  return code >= 128 ? 3 : code >= 64 ? 2 : 1;
}

constexpr bool is_valid(PwOp op) {
  return op <= PwOp::kNarrow || (op >= PwOp::kNeg && op <= PwOp::kIsInf) ||
         (op >= PwOp::kAdd && op <= PwOp::kShiftRight) || op == PwOp::kSelect || op == PwOp::kMulAdd;
}

// "add", "mul", ...: as graph dumps spell it.
const char* name_of(PwOp op);

// Whether a list of bytes from outside is a program a kernel may run: ops known and used in a class they are defined
// in, every register written before it is read and always used in the class it was written in, operands < `operands`,
// stores: exactly one to each of `outputs` outputs, and kAcc only where `has_accumulator`.
bool is_valid_program(const PwInstr* instructions, int count, int operands, int outputs, bool has_accumulator);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_PROGRAM_H_
