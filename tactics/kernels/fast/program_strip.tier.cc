#include "tactics/kernels/fast/program_strip.h"

#include <math.h>

#include "tactics/kernels/fast/vector_math.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

static_assert(kLanes <= kSplatLength);

// A register's value: a strip, or one vector that stands for every element (step 0).
struct Register {
  const float* data;
  int step;  // 1 or 0
};

FloatVec ones_where(hn::Mask<FloatTag> mask) { return hn::IfThenElseZero(mask, hn::Set(kF, 1.0f)); }
// Not Ne, which Highway makes false for NaN on AVX2 and AVX-512.
hn::Mask<FloatTag> is_true(FloatVec v) { return hn::Not(hn::Eq(v, hn::Zero(kF))); }

// A vector loop over whole vectors: registers are padded, so the last may run past the strip.
template <typename Op>
HWY_INLINE void map1(Register a, float* to, int n, const Op& op) {
  for (int i = 0; i < n; i += kLanes) hn::Store(op(hn::LoadU(kF, a.data + i)), kF, to + i);
}

template <typename Op>
HWY_INLINE void map2(Register a, Register b, float* to, int n, const Op& op) {
  for (int i = 0; i < n; i += kLanes) {
    hn::Store(op(hn::LoadU(kF, a.data + i * a.step), hn::LoadU(kF, b.data + i * b.step)), kF, to + i);
  }
}

template <typename Op>
HWY_INLINE void map3(Register a, Register b, Register c, float* to, int n, const Op& op) {
  for (int i = 0; i < n; i += kLanes) {
    hn::Store(
        op(hn::LoadU(kF, a.data + i * a.step), hn::LoadU(kF, b.data + i * b.step), hn::LoadU(kF, c.data + i * c.step)),
        kF, to + i);
  }
}

// Functions too rare to be worth vector code.
using ScalarFunction = float (*)(float);
ScalarFunction scalar_function(PwOp op) {
  switch (op) {
    case PwOp::kSin: return sinf;
    case PwOp::kCos: return cosf;
    case PwOp::kTan: return tanf;
    case PwOp::kAsin: return asinf;
    case PwOp::kAcos: return acosf;
    case PwOp::kAtan: return atanf;
    case PwOp::kSinh: return sinhf;
    case PwOp::kCosh: return coshf;
    case PwOp::kAsinh: return asinhf;
    case PwOp::kAcosh: return acoshf;
    case PwOp::kAtanh: return atanhf;
    default: return nullptr;
  }
}

float mod_floor(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

using ScalarFunction2 = float (*)(float, float);
ScalarFunction2 scalar_function2(PwOp op) {
  switch (op) {
    case PwOp::kPow: return powf;
    case PwOp::kModTrunc: return fmodf;
    case PwOp::kModFloor: return mod_floor;
    default: return nullptr;
  }
}

void compute1(const PwInstr& instr, Register a, float* to, int n) {
  switch (instr.op) {
    case PwOp::kNeg: return map1(a, to, n, [](FloatVec x) { return hn::Neg(x); });
    case PwOp::kAbs: return map1(a, to, n, [](FloatVec x) { return hn::Abs(x); });
    case PwOp::kSign:
      return map1(a, to, n, [](FloatVec x) {
        const FloatVec one = hn::CopySign(hn::Set(kF, 1.0f), x);
        return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(kF)), one, x);  // 0 and NaN stay
      });
    case PwOp::kReciprocal: return map1(a, to, n, [](FloatVec x) { return hn::Div(hn::Set(kF, 1.0f), x); });
    case PwOp::kSqrt: return map1(a, to, n, [](FloatVec x) { return hn::Sqrt(x); });
    case PwOp::kExp: return map1(a, to, n, [](FloatVec x) { return vector_exp(x); });
    case PwOp::kLog: return map1(a, to, n, [](FloatVec x) { return vector_log(x); });
    case PwOp::kErf: return map1(a, to, n, [](FloatVec x) { return vector_erf(x); });
    case PwOp::kTanh: return map1(a, to, n, [](FloatVec x) { return vector_tanh(x); });
    case PwOp::kSigmoid: return map1(a, to, n, [](FloatVec x) { return vector_sigmoid(x); });
    case PwOp::kFloor: return map1(a, to, n, [](FloatVec x) { return hn::Floor(x); });
    case PwOp::kCeil: return map1(a, to, n, [](FloatVec x) { return hn::Ceil(x); });
    case PwOp::kRoundEven: return map1(a, to, n, [](FloatVec x) { return hn::Round(x); });
    case PwOp::kNot: return map1(a, to, n, [](FloatVec x) { return ones_where(hn::Eq(x, hn::Zero(kF))); });
    case PwOp::kIsNan: return map1(a, to, n, [](FloatVec x) { return ones_where(hn::IsNaN(x)); });
    case PwOp::kIsInf: {
      // An infinity that is not asked for is compared with NaN, which nothing equals.
      const FloatVec never = hn::Set(kF, __builtin_nanf(""));
      const FloatVec plus = (instr.operand & 1) != 0 ? hn::Set(kF, __builtin_inff()) : never;
      const FloatVec minus = (instr.operand & 2) != 0 ? hn::Set(kF, -__builtin_inff()) : never;
      return map1(a, to, n, [=](FloatVec x) { return ones_where(hn::Or(hn::Eq(x, plus), hn::Eq(x, minus))); });
    }
    case PwOp::kNarrow:
      if (static_cast<DType>(instr.operand) == DType::kBool) {
        return map1(a, to, n, [](FloatVec x) { return ones_where(is_true(x)); });
      }
      return map1(a, to, n, [](FloatVec x) { return x; });
    case PwOp::kConvert: return map1(a, to, n, [](FloatVec x) { return x; });
    default: {
      const ScalarFunction function = scalar_function(instr.op);
      for (int i = 0; i < n; ++i) to[i] = function(a.data[i]);
    }
  }
}

void compute2(const PwInstr& instr, Register a, Register b, float* to, int n) {
  using V = FloatVec;
  switch (instr.op) {
    case PwOp::kAdd: return map2(a, b, to, n, [](V x, V y) { return hn::Add(x, y); });
    case PwOp::kSub: return map2(a, b, to, n, [](V x, V y) { return hn::Sub(x, y); });
    case PwOp::kMul: return map2(a, b, to, n, [](V x, V y) { return hn::Mul(x, y); });
    case PwOp::kDiv: return map2(a, b, to, n, [](V x, V y) { return hn::Div(x, y); });
    // x86's min and max give the second operand where either is NaN: right unless the NaN is the first.
    case PwOp::kMin: return map2(a, b, to, n, [](V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y)); });
    case PwOp::kMax: return map2(a, b, to, n, [](V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y)); });
    case PwOp::kEqual: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::Eq(x, y)); });
    case PwOp::kLess: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::Lt(x, y)); });
    case PwOp::kLessEqual: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::Le(x, y)); });
    case PwOp::kAnd: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::And(is_true(x), is_true(y))); });
    case PwOp::kOr: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::Or(is_true(x), is_true(y))); });
    case PwOp::kXor: return map2(a, b, to, n, [](V x, V y) { return ones_where(hn::Xor(is_true(x), is_true(y))); });
    default: {
      const ScalarFunction2 function = scalar_function2(instr.op);
      for (int i = 0; i < n; ++i) {
        // A register of step 0 holds one vector of equal elements.
        to[i] = function(a.data[i * a.step], b.data[i * b.step]);
      }
    }
  }
}

void compute3(const PwInstr& instr, Register a, Register b, Register c, float* to, int n) {
  using V = FloatVec;
  if (instr.op == PwOp::kSelect) {
    return map3(a, b, c, to, n, [](V x, V y, V z) { return hn::IfThenElse(is_true(x), y, z); });
  }
  map3(a, b, c, to, n, [](V x, V y, V z) { return hn::MulAdd(x, y, z); });
}

// Operations on one register, each with a number, that follow one another as they do where levels are made and unmade:
// (level(clamp(x * factor + added)) + shift) * rescale, where a level is clamp(round(x) + zero, least, most). In one
// loop these are computed in registers, where an instruction alone takes a load and a store.
class NumberChain {
 public:
  // Whether the operation comes behind those there are.
  bool add(PwOp op, float number) {
    if (number != number) return false;
    switch (op) {
      case PwOp::kMul: return set(kFactor, &factor_, number) || set(kRescale, &rescale_, number);
      case PwOp::kSub:
      case PwOp::kAdd: {
        const float added = op == PwOp::kSub ? -number : number;
        if (rounds_) return set_level(kZero, &zero_, added) || set(kShift, &shift_, added);
        return set(kAdded, &added_, added) || set(kShift, &shift_, added);
      }
      case PwOp::kMax: return rounds_ ? set_level(kLeast, &least_, number) : set(kLow, &low_, number);
      case PwOp::kMin: return rounds_ ? set_level(kMost, &most_, number) : set(kHigh, &high_, number);
      case PwOp::kRoundEven:
        if (stage_ >= kRounded) return false;
        stage_ = kRounded;
        rounds_ = true;
        return true;
      default: return false;
    }
  }

  void run(const float* from, float* to, int n) const {
    const FloatVec factor = hn::Set(kF, factor_), added = hn::Set(kF, added_);
    const FloatVec shift = hn::Set(kF, shift_), rescale = hn::Set(kF, rescale_);
    if (!rounds_) {
      const FloatVec low = hn::Set(kF, low_), high = hn::Set(kF, high_);
      return map1({from, 1}, to, n, [=](FloatVec x) {
        x = hn::Min(high, hn::Max(low, hn::Add(hn::Mul(x, factor), added)));
        return hn::Mul(hn::Add(x, shift), rescale);
      });
    }
    // Bounds of integers may as well come before rounding. NaN stays: Min and Max give their second operand then.
    const FloatVec low = hn::Set(kF, bounded(low_)), high = hn::Set(kF, bounded(high_)), zero = hn::Set(kF, zero_);
    map1({from, 1}, to, n, [=](FloatVec x) {
      x = hn::Min(high, hn::Max(low, hn::Add(hn::Mul(x, factor), added)));
      return hn::Mul(hn::Add(hn::Add(hn::Round(x), zero), shift), rescale);
    });
  }

 private:
  enum Stage : uint8_t { kNone, kFactor, kAdded, kLow, kHigh, kRounded, kZero, kLeast, kMost, kShift, kRescale };

  bool set(Stage stage, float* to, float number) {
    if (stage_ >= stage) return false;
    stage_ = stage;
    *to = number;
    return true;
  }
  bool set_level(Stage stage, float* to, float number) {
    return __builtin_fabsf(number) < 0x1p20f && __builtin_rintf(number) == number && set(stage, to, number);
  }
  float bounded(float x) const {
    const float above = x > least_ - zero_ ? x : least_ - zero_;
    return above < most_ - zero_ ? above : most_ - zero_;
  }

  static constexpr float kInfinity = __builtin_inff();
  Stage stage_ = kNone;
  bool rounds_ = false;
  float factor_ = 1.0f, added_ = -0.0f;  // -0 is what can be added to any number
  float low_ = -kInfinity, high_ = kInfinity, zero_ = -0.0f, least_ = -kInfinity, most_ = kInfinity;
  float shift_ = -0.0f, rescale_ = 1.0f;
};

Register splat(float value, float* to) {
  hn::Store(hn::Set(kF, value), kF, to);
  return {to, 0};
}

// Copies `length` elements to `to`, and 0 up to the next whole vector.
void gather(const float* from, int64_t stride, int length, float* to) {
  const int whole = length - length % kLanes;
  if (stride == 1) {
    for (int i = 0; i < whole; i += kLanes) hn::Store(hn::LoadU(kF, from + i), kF, to + i);
    if (whole < length) hn::Store(load_n(from + whole, length - whole), kF, to + whole);
    return;
  }
  for (int i = 0; i < length; ++i) to[i] = from[i * stride];
  for (int i = length; i % kLanes != 0; ++i) to[i] = 0.0f;
}

Register load(const StripOperand& operand, const StripTile& tile, bool in_place, float* to, float* splat_to) {
  if (operand.rows == nullptr) {
    if (operand.stride == 0) return splat(*operand.data, splat_to);
    if (in_place && tile.rows == 1 && operand.stride == 1 && tile.columns % kLanes == 0) return {operand.data, 1};
  }
  for (int r = 0; r < tile.rows; ++r) {
    const float* from = operand.rows == nullptr ? operand.data : operand.rows[r] + operand.column * operand.stride;
    gather(from, operand.stride, tile.columns, to + r * tile.pitch);
  }
  return {to, 1};
}

void scatter(const float* from, int step, float* to, int64_t stride, int length) {
  if (stride == 1) {
    const int whole = length - length % kLanes;
    for (int i = 0; i < whole; i += kLanes) hn::StoreU(hn::LoadU(kF, from + i * step), kF, to + i);
    if (whole < length) store_n(hn::LoadU(kF, from + whole * step), to + whole, length - whole);
    return;
  }
  for (int i = 0; i < length; ++i) to[i * stride] = from[i * step];
}

void store(Register from, const StripOutput& output, const StripTile& tile) {
  for (int r = 0; r < tile.rows; ++r) {
    float* to = output.rows == nullptr ? output.data : output.rows[r] + output.column * output.stride;
    scatter(from.data + r * tile.pitch * from.step, from.step, to, output.stride, tile.columns);
  }
}

bool is_strip_instruction(const PwInstr& instr) {
  if (instr.type != PwClass::kFloat) return false;
  switch (instr.op) {
    case PwOp::kLoad:
    case PwOp::kConst:
    case PwOp::kAcc:
    case PwOp::kStore: return true;
    case PwOp::kConvert: return instr.from == PwClass::kFloat;
    case PwOp::kNarrow:
      return static_cast<DType>(instr.operand) == DType::kF32 || static_cast<DType>(instr.operand) == DType::kBool;
    case PwOp::kBitNot:
    case PwOp::kBitAnd:
    case PwOp::kBitOr:
    case PwOp::kBitXor:
    case PwOp::kShiftLeft:
    case PwOp::kShiftRight: return false;
    default: return is_valid(instr.op);
  }
}

// Runs the instructions from `first` on that are one chain, and constants between; how many, 0 if there is none of at
// least two operations.
int run_chain(const StripProgram& program, int first, Register* values, int n, float* registers) {
  const PwInstr& begin = program.instructions[first];
  if (reads_of(begin.op) > 2 || values[begin.a].step == 0) return 0;
  NumberChain chain;
  // Constants that come on the way: instructions before may still read what their registers held.
  float constants[kMaxPwRegisters];
  uint32_t is_constant = 0;
  static_assert(kMaxPwRegisters <= 32);
  int operations = 0, end = first;
  for (int i = first; i < program.count; ++i) {
    const PwInstr& instr = program.instructions[i];
    if (instr.op == PwOp::kConst && instr.dst != begin.dst && instr.dst != begin.a) {
      constants[instr.dst] = static_cast<float>(instr.imm_f);
      is_constant |= 1u << instr.dst;
      continue;
    }
    if (i > first && (instr.a != begin.dst || instr.dst != begin.dst)) break;
    // What an instruction of one operand holds in b is no register's number.
    const bool reads_two = reads_of(instr.op) == 2;
    const bool is_new = reads_two && (is_constant >> instr.b & 1) != 0;
    const bool has_number = reads_two && instr.b != begin.dst && (is_new || values[instr.b].step == 0);
    if (!has_number && instr.op != PwOp::kRoundEven) break;
    const float number = !has_number ? 0.0f : is_new ? constants[instr.b] : *values[instr.b].data;
    if (!chain.add(instr.op, number)) break;
    ++operations;
    end = i + 1;
  }
  if (operations < 2) return 0;
  float* to = registers + begin.dst * kStripLength;
  chain.run(values[begin.a].data, to, n);
  values[begin.dst] = {to, 1};
  for (int i = first; i < end; ++i) {
    const PwInstr& instr = program.instructions[i];
    if (instr.op != PwOp::kConst) continue;
    float* splat_to = registers + kMaxPwRegisters * kStripLength + instr.dst * kSplatLength;
    values[instr.dst] = splat(static_cast<float>(instr.imm_f), splat_to);
  }
  return end - first;
}

}  // namespace

bool is_strip_program(const PwInstr* instructions, int count) {
  for (int i = 0; i < count; ++i) {
    if (!is_strip_instruction(instructions[i])) return false;
  }
  return true;
}

StripProgram strip_program(const PwInstr* instructions, int count) {
  int stores = 0;
  for (int i = 0; i < count; ++i) stores += instructions[i].op == PwOp::kStore;
  return {instructions, count, stores == 1 && instructions[count - 1].op == PwOp::kStore};
}

void run_tile(const StripProgram& program, const StripOperand* operands, const float* accumulator,
              const StripOutput* outputs, const StripTile& tile, float* registers) {
  if (program.count == 0) return store({accumulator, 1}, outputs[0], tile);
  Register values[kMaxPwRegisters];
  const int length = (tile.rows - 1) * tile.pitch + tile.columns;
  const int padded = (length + kLanes - 1) / kLanes * kLanes;
  for (int i = 0; i < program.count; ++i) {
    const PwInstr& instr = program.instructions[i];
    float* to = registers + instr.dst * kStripLength;
    float* splat_to = registers + kMaxPwRegisters * kStripLength + instr.dst * kSplatLength;
    switch (instr.op) {
      case PwOp::kLoad:
        values[instr.dst] = load(operands[instr.operand], tile, program.store_is_last, to, splat_to);
        continue;
      case PwOp::kConst: values[instr.dst] = splat(static_cast<float>(instr.imm_f), splat_to); continue;
      case PwOp::kAcc: values[instr.dst] = {accumulator, 1}; continue;
      case PwOp::kStore: store(values[instr.a], outputs[instr.operand], tile); continue;
      default: break;
    }
    if (const int taken = run_chain(program, i, values, padded, registers); taken > 0) {
      i += taken - 1;
      continue;
    }
    const int reads = reads_of(instr.op);
    const Register a = values[instr.a];
    const Register b = reads >= 2 ? values[instr.b] : a;
    const Register c = reads == 3 ? values[instr.c] : a;
    // A value that is the same for every element is computed once.
    const bool one = (a.step | b.step | c.step) == 0;
    const int n = one ? kLanes : padded;
    if (one) to = splat_to;
    if (reads == 1) {
      compute1(instr, a, to, n);
    } else if (reads == 2) {
      compute2(instr, a, b, to, n);
    } else {
      compute3(instr, a, b, c, to, n);
    }
    values[instr.dst] = {to, one ? 0 : 1};
  }
}

void run_strip(const StripProgram& program, const StripOperand* operands, const float* accumulator,
               const StripOutput* outputs, int length, float* registers) {
  run_tile(program, operands, accumulator, outputs, {1, length, kStripLength}, registers);
}

}  // namespace planwright::PW_TIER_NAMESPACE
