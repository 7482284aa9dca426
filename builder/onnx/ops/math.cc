// Arithmetic, element by element.
#include <fmt/format.h>

#include <cfloat>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

template <PwOp op>
void unary(NodeContext& node) {
  node.set(0, node.unary(op, node.in(0)));
}

// Of integers, which opset 9 takes, in double, cut to whole numbers.
void erf(NodeContext& node) {
  const DType dtype = node.in_type(0);
  node.set(0, map(node, node.in(0), dtype, [&](ProgramBuilder& p, Reg x) {
             return p.apply(PwOp::kErf, is_float(dtype) ? x : p.convert(x, PwClass::kDouble));
           }));
}

template <PwOp op>
void binary(NodeContext& node) {
  const auto [a, b] = broadcast_pair(node);
  node.set(0, node.binary(op, a, b));
}

// Folds any number of inputs into one program, as many at a time as a program can load.
template <PwOp op>
ValueId fold_inputs(NodeContext& node) {
  node.require(node.input_count() > 0, "it has no inputs");
  ValueId result = node.in(0);
  for (int next = 1; next < node.input_count();) {
    ProgramBuilder program;
    std::vector<ValueId> operands{result};
    Reg total = program.load(node.in_type(0));
    for (; next < node.input_count() && operands.size() < kMaxPwOperands; ++next) {
      node.require(node.in_type(next) == node.in_type(0), "its inputs have different types");
      operands.push_back(node.in(next));
      total = program.apply(op, total, program.load(node.in_type(0)));
    }
    program.store(total, node.in_type(0));
    result = node.pointwise(program, std::move(operands), node.in_type(0));
  }
  return result;
}

template <PwOp op>
void variadic(NodeContext& node) {
  node.set(0, fold_inputs<op>(node));
}

void mean(NodeContext& node) {
  const ValueId sum = fold_inputs<PwOp::kAdd>(node);
  node.set(0, map(node, sum, node.in_type(0), [&](ProgramBuilder& p, Reg x) {
             return p.apply(PwOp::kDiv, x, p.constant(x.type, node.input_count()));
           }));
}

// The result has the base's type; the exponent may have any.
void pow(NodeContext& node) {
  const auto [base, exponent] = broadcast_pair(node, /*same_type=*/false);
  const DType dtype = node.dtype(base);
  // Integers wrap as products do; by a real exponent they are raised as reals.
  const bool by_real = !is_float(dtype) && is_float(node.dtype(exponent));
  const PwClass type = by_real ? PwClass::kDouble : class_of(dtype);
  ProgramBuilder program;
  const Reg a = program.load_as(dtype, type);
  const Reg b = program.load_as(node.dtype(exponent), type);
  program.store(program.apply(PwOp::kPow, a, b), dtype);
  node.set(0, node.pointwise(program, {base, exponent}, dtype));
}

void mod(NodeContext& node) {
  const bool truncates = node.get_int("fmod") != 0;
  // Before opset 28 only integers had a modulo with the divisor's sign.
  node.require(truncates || node.since() >= 28 || !is_float(node.in_type(0)), "fmod must be 1 for floating types");
  truncates ? binary<PwOp::kModTrunc>(node) : binary<PwOp::kModFloor>(node);
}

// Counts outside [0, bits) leave nothing but the sign: 0, or -1 where a negative number is shifted right.
void bit_shift(NodeContext& node) {
  const std::string direction = node.get_string("direction");
  node.require(direction == "LEFT" || direction == "RIGHT",
               fmt::format("direction '{}' is not LEFT or RIGHT", direction));
  if (direction == "LEFT") return binary<PwOp::kShiftLeft>(node);
  const auto [a, b] = broadcast_pair(node);
  const DType dtype = node.dtype(a);
  if (is_unsigned(dtype)) return node.set(0, node.binary(PwOp::kShiftRight, a, b));
  const auto bits = static_cast<int64_t>(8 * size_of(dtype));
  node.set(0, map(node, a, b, dtype, [bits](ProgramBuilder& p, Reg x, Reg count) {
             const Reg last = p.constant_int(x.type, bits - 1);
             const Reg negative = p.apply(PwOp::kLess, count, p.constant_int(x.type, 0));
             const Reg limited = p.apply(PwOp::kSelect, negative, last, p.apply(PwOp::kMin, count, last));
             return p.apply(PwOp::kShiftRight, x, limited);
           }));
}

// A bound of Clip: a constant becomes part of the program, a computed one an operand.
std::optional<Reg> clip_bound(NodeContext& node, int input, const char* attribute, double open, ProgramBuilder& program,
                              std::vector<ValueId>& operands) {
  const DType dtype = node.in_type(0);
  if (node.since() < 11) {
    const float bound = node.get_float(attribute, static_cast<float>(open));
    if (static_cast<double>(bound) == open) return std::nullopt;
    return program.constant(class_of(dtype), static_cast<double>(bound));
  }
  if (!node.has(input)) return std::nullopt;
  const ir::Value& bound = node.input(input);
  node.require(bound.dtype == dtype,
               fmt::format("'{}' is {}, its input {}", attribute, name_of(bound.dtype), name_of(dtype)));
  node.require(bound.rank() <= 1, fmt::format("'{}' must be a scalar", attribute));
  if (bound.is_constant() && !bound.constant->empty()) {
    return is_float(dtype) ? program.constant(class_of(dtype), read_doubles(bound)[0])
                           : program.constant_int(class_of(dtype), read_ints(bound)[0]);
  }
  operands.push_back(bound.id);
  return program.load(dtype);
}

// min(max(x, low), high): where low > high, everything becomes high.
void clip(NodeContext& node) {
  const DType dtype = node.in_type(0);
  ProgramBuilder program;
  std::vector<ValueId> operands{node.in(0)};
  Reg x = program.load(dtype);
  const auto low = clip_bound(node, 1, "min", -FLT_MAX, program, operands);
  if (low) x = program.apply(PwOp::kMax, x, *low);
  const auto high = clip_bound(node, 2, "max", FLT_MAX, program, operands);
  if (high) x = program.apply(PwOp::kMin, x, *high);
  program.store(x, dtype);
  node.set(0, low || high ? node.pointwise(program, std::move(operands), dtype) : node.in(0));
}

// To the nearest power of two that is not below `x`, or not above it.
Reg round_to_power(ProgramBuilder& p, Reg x, bool up) {
  const Reg nearest = p.narrow(x, DType::kF8E8M0);
  const Reg is_past = up ? p.apply(PwOp::kLess, nearest, x) : p.apply(PwOp::kLess, x, nearest);
  const Reg next = p.apply(PwOp::kMul, nearest, p.constant(x.type, up ? 2 : 0.5));
  return p.apply(PwOp::kSelect, is_past, next, nearest);
}

// A minifloat that saturates takes numbers past its range, infinities too, as the end of the range; one that does not
// has its infinity or NaN for them, as every store has. Types of six and four bits, which have neither, saturate
// anyway.
void cast_to(NodeContext& node, DType to) {
  const DType from = node.in_type(0);
  if (!is_minifloat(to) || from == to) return node.set(0, node.cast(node.in(0), to));
  ProgramBuilder p;
  // Large integers are exact enough in double to be rounded once.
  Reg x = p.load(from);
  if (!is_float(from)) x = p.convert(x, PwClass::kDouble);
  if (node.get_int("saturate", 1) != 0) x = p.saturate(x, to);
  if (to == DType::kF8E8M0) {
    const std::string mode = node.get_string("round_mode", "up");
    node.require(mode == "up" || mode == "down" || mode == "nearest",
                 fmt::format("round_mode '{}' is not up, down or nearest", mode));
    if (mode != "nearest") x = round_to_power(p, x, mode == "up");
  }
  p.store(x, to);
  node.set(0, node.pointwise(p, {node.in(0)}, to));
}

void cast(NodeContext& node) {
  int32_t code = node.get_int32("to");
  if (node.since() < 6) {  // a name then, a number since
    onnx::TensorProto_DataType parsed{};
    code = onnx::TensorProto_DataType_Parse(node.get_string("to"), &parsed) ? parsed : 0;
  }
  const std::optional<DType> to = dtype_of_onnx(code);
  if (!to) node.unsupported(fmt::format("a cast to {} is not supported", onnx_type_name(code)));
  cast_to(node, *to);
}

void cast_like(NodeContext& node) { cast_to(node, node.in_type(1)); }

void bit_cast(NodeContext& node) {
  const int32_t code = node.get_int32("to");
  const std::optional<DType> to = dtype_of_onnx(code);
  if (!to) node.unsupported(fmt::format("bits as {} are not supported", onnx_type_name(code)));
  const DType from = node.in_type(0);
  node.require(bit_width(from) == bit_width(*to),
               fmt::format("its input is {}, which has not as many bits as {}", name_of(from), name_of(*to)));
  if (from == *to) return node.set(0, node.in(0));
  Operation operation{OpKind::kBitCast, NoParams{}, {node.in(0)}};
  operation.results[0].dtype = *to;
  node.set(0, node.emit_one(std::move(operation)));
}

constexpr ImporterRow kRows[] = {
    {"Abs", unary<PwOp::kAbs>},
    {"Acos", unary<PwOp::kAcos>},
    {"Acosh", unary<PwOp::kAcosh>},
    {"Add", binary<PwOp::kAdd>},
    {"Asin", unary<PwOp::kAsin>},
    {"Asinh", unary<PwOp::kAsinh>},
    {"Atan", unary<PwOp::kAtan>},
    {"Atanh", unary<PwOp::kAtanh>},
    {"BitCast", bit_cast},
    {"BitShift", bit_shift},
    {"BitwiseAnd", binary<PwOp::kBitAnd>},
    {"BitwiseNot", unary<PwOp::kBitNot>},
    {"BitwiseOr", binary<PwOp::kBitOr>},
    {"BitwiseXor", binary<PwOp::kBitXor>},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", unary<PwOp::kCeil>},
    {"Clip", clip},
    {"Cos", unary<PwOp::kCos>},
    {"Cosh", unary<PwOp::kCosh>},
    {"Div", binary<PwOp::kDiv>},
    {"Erf", erf},
    {"Exp", unary<PwOp::kExp>},
    {"Floor", unary<PwOp::kFloor>},
    {"Log", unary<PwOp::kLog>},
    {"Max", variadic<PwOp::kMax>},
    {"Mean", mean},
    {"Min", variadic<PwOp::kMin>},
    {"Mod", mod},
    {"Mul", binary<PwOp::kMul>},
    {"Neg", unary<PwOp::kNeg>},
    {"Pow", pow},
    {"Reciprocal", unary<PwOp::kReciprocal>},
    {"Round", unary<PwOp::kRoundEven>},
    {"Sign", unary<PwOp::kSign>},
    {"Sin", unary<PwOp::kSin>},
    {"Sinh", unary<PwOp::kSinh>},
    {"Sqrt", unary<PwOp::kSqrt>},
    {"Sub", binary<PwOp::kSub>},
    {"Sum", variadic<PwOp::kAdd>},
    {"Tan", unary<PwOp::kTan>},
};

}  // namespace

ImporterTable math_importers() { return kRows; }

}  // namespace planwright::builder::importer
