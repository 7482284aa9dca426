#include "tactics/kernels/reference/evaluate.h"

#include <math.h>

#include "tactics/kernels/reference/element.h"

namespace planwright::reference {
namespace {

template <typename T>
T read(const Value& value);
template <>
float read<float>(const Value& value) {
  return value.f;
}
template <>
double read<double>(const Value& value) {
  return value.d;
}
template <>
int64_t read<int64_t>(const Value& value) {
  return value.i;
}
template <>
uint64_t read<uint64_t>(const Value& value) {
  return value.u;
}

Value value_of(float x) { return {.f = x}; }
Value value_of(double x) { return {.d = x}; }
Value value_of(int64_t x) { return {.i = x}; }
Value value_of(uint64_t x) { return {.u = x}; }

template <typename T>
T convert_from(PwClass from, const Value& value) {
  switch (from) {
    case PwClass::kFloat: return convert<T>(value.f);
    case PwClass::kDouble: return convert<T>(value.d);
    case PwClass::kInt: return convert<T>(value.i);
    case PwClass::kUint: return convert<T>(value.u);
  }
  return T(0);
}

// A store into one element of `type` and a load from it.
template <typename T>
T narrow(DType type, T value) {
  uint64_t element = 0;
  store<T>(type, &element, 0, value);
  return load<T>(type, &element, 0);
}

// Functions of the C library are computed in double and rounded once: this is the oracle.
template <typename T>
T compute_float1(PwOp op, T a) {
  const double x = a;
  switch (op) {
    case PwOp::kReciprocal: return T(1) / a;
    case PwOp::kSqrt: return static_cast<T>(sqrt(x));
    case PwOp::kExp: return static_cast<T>(exp(x));
    case PwOp::kLog: return static_cast<T>(log(x));
    case PwOp::kErf: return static_cast<T>(erf(x));
    case PwOp::kTanh: return static_cast<T>(tanh(x));
    case PwOp::kSigmoid: return static_cast<T>(1.0 / (1.0 + exp(-x)));
    case PwOp::kFloor: return static_cast<T>(floor(x));
    case PwOp::kCeil: return static_cast<T>(ceil(x));
    case PwOp::kRoundEven: return static_cast<T>(nearbyint(x));
    case PwOp::kSin: return static_cast<T>(sin(x));
    case PwOp::kCos: return static_cast<T>(cos(x));
    case PwOp::kTan: return static_cast<T>(tan(x));
    case PwOp::kAsin: return static_cast<T>(asin(x));
    case PwOp::kAcos: return static_cast<T>(acos(x));
    case PwOp::kAtan: return static_cast<T>(atan(x));
    case PwOp::kSinh: return static_cast<T>(sinh(x));
    case PwOp::kCosh: return static_cast<T>(cosh(x));
    case PwOp::kAsinh: return static_cast<T>(asinh(x));
    case PwOp::kAcosh: return static_cast<T>(acosh(x));
    case PwOp::kAtanh: return static_cast<T>(atanh(x));
    default: return T(0);
  }
}

template <typename T>
T compute1(const PwInstr& instr, T a) {
  switch (instr.op) {
    case PwOp::kNeg: return kIsFloating<T> ? -a : subtract(T(0), a);
    case PwOp::kAbs:
      if constexpr (kIsFloating<T>) return static_cast<T>(fabs(a));
      return a < T(0) ? subtract(T(0), a) : a;
    case PwOp::kSign: return a > T(0) ? T(1) : a < T(0) ? T(-1) : a;
    case PwOp::kNot: return a == T(0) ? T(1) : T(0);
    case PwOp::kNarrow: return narrow(static_cast<DType>(instr.operand), a);
    default: break;
  }
  if constexpr (kIsFloating<T>) {
    if (instr.op == PwOp::kIsNan) return a != a ? T(1) : T(0);
    if (instr.op == PwOp::kIsInf) {
      const bool positive = (instr.operand & 1) != 0 && a == T(INFINITY);
      const bool negative = (instr.operand & 2) != 0 && a == -T(INFINITY);
      return positive || negative ? T(1) : T(0);
    }
    return compute_float1(instr.op, a);
  } else {
    return static_cast<T>(~a);  // kBitNot
  }
}

template <typename T>
T divide(T a, T b) {
  if constexpr (kIsFloating<T>) return a / b;
  if (b == T(0)) return T(0);
  if (b == T(-1) && T(-1) < T(0)) return subtract(T(0), a);  // INT64_MIN / -1 wraps
  return static_cast<T>(a / (b == T(0) ? T(1) : b));
}

template <typename T>
T remainder_trunc(T a, T b) {
  if constexpr (kIsFloating<T>) {
    return static_cast<T>(fmod(a, b));
  } else {
    return b == T(0) ? T(0) : subtract(a, multiply(divide(a, b), b));
  }
}

template <typename T>
T remainder_floor(T a, T b) {
  const T r = remainder_trunc(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? add(r, b) : r;
}

template <typename T>
T power(T a, T b) {
  if constexpr (kIsFloating<T>) {
    return static_cast<T>(pow(a, b));
  } else {
    // A negative exponent is one divided by the positive power, truncated.
    if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b % 2 == 0 ? T(1) : T(-1)) : T(0);
    T result = 1;
    for (uint64_t left = static_cast<uint64_t>(b); left != 0; left >>= 1, a = multiply(a, a)) {
      if ((left & 1) != 0) result = multiply(result, a);
    }
    return result;
  }
}

template <typename T>
T compute_bits(PwOp op, T a, T b) {
  const bool in_range = b >= T(0) && b < T(64);
  switch (op) {
    case PwOp::kBitAnd: return a & b;
    case PwOp::kBitOr: return a | b;
    case PwOp::kBitXor: return a ^ b;
    case PwOp::kShiftLeft: return in_range ? static_cast<T>(static_cast<uint64_t>(a) << b) : T(0);
    case PwOp::kShiftRight: return in_range ? static_cast<T>(a >> b) : T(0);
    default: return T(0);
  }
}

template <typename T>
T compute2(PwOp op, T a, T b) {
  switch (op) {
    case PwOp::kAdd: return add(a, b);
    case PwOp::kSub: return subtract(a, b);
    case PwOp::kMul: return multiply(a, b);
    case PwOp::kDiv: return divide(a, b);
    case PwOp::kMin: return a != a || a < b ? a : b;  // b where it is NaN: no comparison holds
    case PwOp::kMax: return a != a || a > b ? a : b;
    case PwOp::kPow: return power(a, b);
    case PwOp::kModFloor: return remainder_floor(a, b);
    case PwOp::kModTrunc: return remainder_trunc(a, b);
    case PwOp::kEqual: return a == b ? T(1) : T(0);
    case PwOp::kLess: return a < b ? T(1) : T(0);
    case PwOp::kLessEqual: return a <= b ? T(1) : T(0);
    case PwOp::kAnd: return a != T(0) && b != T(0) ? T(1) : T(0);
    case PwOp::kOr: return a != T(0) || b != T(0) ? T(1) : T(0);
    case PwOp::kXor: return (a != T(0)) != (b != T(0)) ? T(1) : T(0);
    default: break;
  }
  if constexpr (kIsFloating<T>) {
    return T(0);
  } else {
    return compute_bits(op, a, b);
  }
}

template <typename T>
T compute3(PwOp op, T a, T b, T c) {
  if (op == PwOp::kSelect) return a != T(0) ? b : c;
  // kMulAdd: rounded once for floats, as the fused instruction does.
  if constexpr (kIsFloating<T>) return sizeof(T) == 4 ? T(fmaf(float(a), float(b), float(c))) : T(fma(a, b, c));
  return add(multiply(a, b), c);
}

// The elements of the operands at one position.
struct Elements {
  const TensorView* views;
  int64_t offsets[kMaxPwOperands];
};

template <typename T>
Value step(const PwInstr& instr, const Elements& operands, const TypedValue& accumulator, const Value* registers) {
  switch (instr.op) {
    case PwOp::kLoad: return value_of(load<T>(operands.views[instr.operand], operands.offsets[instr.operand]));
    case PwOp::kConst:
      if constexpr (kIsFloating<T>) return value_of(static_cast<T>(instr.imm_f));
      return value_of(static_cast<T>(instr.imm_i));
    case PwOp::kAcc: return value_of(convert_from<T>(accumulator.type, accumulator.value));
    case PwOp::kConvert: return value_of(convert_from<T>(instr.from, registers[instr.a]));
    default: break;
  }
  const T a = read<T>(registers[instr.a]);
  switch (reads_of(instr.op)) {
    case 1: return value_of(compute1(instr, a));
    case 2: return value_of(compute2(instr.op, a, read<T>(registers[instr.b])));
    default: return value_of(compute3(instr.op, a, read<T>(registers[instr.b]), read<T>(registers[instr.c])));
  }
}

void store_value(PwClass type, const Value& value, const TensorView& output, int64_t offset) {
  switch (type) {
    case PwClass::kFloat: return store(output, offset, value.f);
    case PwClass::kDouble: return store(output, offset, value.d);
    case PwClass::kInt: return store(output, offset, value.i);
    case PwClass::kUint: return store(output, offset, value.u);
  }
}

void evaluate(const KernelArgs& args, const Elements& operands, const TypedValue& accumulator,
              const Position& position) {
  Value registers[kMaxPwRegisters];
  for (int i = 0; i < args.program_size; ++i) {
    const PwInstr& instr = args.program[i];
    if (instr.op == PwOp::kStore) {
      const TensorView& output = args.outputs[instr.operand];
      store_value(instr.type, registers[instr.a], output, position.offset(output));
      continue;
    }
    switch (instr.type) {
      case PwClass::kFloat: registers[instr.dst] = step<float>(instr, operands, accumulator, registers); break;
      case PwClass::kDouble: registers[instr.dst] = step<double>(instr, operands, accumulator, registers); break;
      case PwClass::kInt: registers[instr.dst] = step<int64_t>(instr, operands, accumulator, registers); break;
      case PwClass::kUint: registers[instr.dst] = step<uint64_t>(instr, operands, accumulator, registers); break;
    }
  }
}

}  // namespace

Program::Program(const KernelArgs& args) : args_(args) {
  for (int i = args.core_inputs; i < args.input_count; ++i) {
    broadcast_strides(args.inputs[i], args.outputs[0], strides_[i - args.core_inputs]);
  }
}

void Program::run(const Position& position) const { run_with(position, {PwClass::kInt, value_of(int64_t{0})}); }

void Program::run(const Position& position, double accumulator) const {
  const TensorView& output = args_.outputs[0];
  if (args_.program_size == 0) return store(output, position.offset(output), accumulator);
  if (class_of(args_.inputs[0].dtype) == PwClass::kDouble) {
    return run_with(position, {PwClass::kDouble, value_of(accumulator)});
  }
  run_with(position, {PwClass::kFloat, value_of(static_cast<float>(accumulator))});
}

void Program::run(const Position& position, int64_t accumulator) const {
  const TensorView& output = args_.outputs[0];
  if (args_.program_size == 0) return store(output, position.offset(output), accumulator);
  run_with(position, {PwClass::kInt, value_of(accumulator)});
}

void Program::run_with(const Position& position, const TypedValue& accumulator) const {
  Elements operands;
  operands.views = args_.inputs + args_.core_inputs;
  const int rank = args_.outputs[0].rank;
  for (int i = 0; i < args_.input_count - args_.core_inputs; ++i) {
    operands.offsets[i] = position.offset(strides_[i], rank);
  }
  evaluate(args_, operands, accumulator, position);
}

}  // namespace planwright::reference
