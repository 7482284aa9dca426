#include "builder/passes/byte_programs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;
using ir::ValueId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr PwValue kNothing = -1;

// Where a value lies, and whether it is an integer.
struct Range {
  double low = -kInfinity, high = kInfinity;
  bool integral = false;
};

Range range_of_type(DType dtype) { return dtype == DType::kU8 ? Range{0, 255, true} : Range{-128, 127, true}; }

// Numbers that are known now, one or of these dims.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> elements;
};

// Values may be read twice each time, so what is further down than that is not looked at.
constexpr int kMostDepth = 8;

Range range_of(const SsaProgram& program, PwValue value, int depth = kMostDepth) {
  const SsaInstr& instr = program.at(value);
  if (depth == 0) return {};
  if (instr.op == PwOp::kConst) {
    const double number = instr.as_double();
    return {number, number, std::nearbyint(number) == number};
  }
  if (instr.op == PwOp::kRoundEven) return {-kInfinity, kInfinity, true};
  if (instr.op != PwOp::kMin && instr.op != PwOp::kMax && instr.op != PwOp::kAdd) return {};
  const Range a = range_of(program, instr.read[0], depth - 1), b = range_of(program, instr.read[1], depth - 1);
  const bool integral = a.integral && b.integral;
  if (instr.op == PwOp::kMin) return {std::min(a.low, b.low), std::min(a.high, b.high), integral};
  if (instr.op == PwOp::kMax) return {std::max(a.low, b.low), std::max(a.high, b.high), integral};
  return {a.low + b.low, a.high + b.high, integral};
}

bool is_within(const Range& range, DType type) {
  const Range allowed = range_of_type(type);
  return range.low >= allowed.low && range.high <= allowed.high;
}

bool is_integer_class(PwClass type) { return type == PwClass::kInt || type == PwClass::kUint; }

class Joiner {
 public:
  Joiner(ir::Graph& graph, const ir::Node& contraction) : graph_(graph), name_(contraction.name) {}

  std::optional<ByteProgram> run(const ir::Node& contraction, const ir::Node& pointwise) {
    PwValue sums = made_.program.accumulator();
    if (!contraction.program.empty()) sums = translate(contraction, kNothing);
    result_ = contraction.outputs[0];
    if (sums == kNothing) return std::nullopt;
    const PwValue stored = translate(pointwise, sums);
    if (stored == kNothing) return std::nullopt;
    const DType type = graph_.value(pointwise.outputs[0]).dtype;
    // Of an integer a store keeps the low bits, of a float the nearest that its type holds.
    if (stores_integer_ && !is_within(range_of(made_.program, stored), type)) return std::nullopt;
    if (type == DType::kF32) {
      made_.program.store(stored);
    } else if (type == DType::kU8 || type == DType::kI8) {
      made_.program.store(made_.program.convert(stored, class_of(type)));
    } else {
      return std::nullopt;
    }
    return made_;
  }

 private:
  // What the node's program stores, in class float; of `pointwise` what it loads of the result is `sums`.
  PwValue translate(const ir::Node& node, PwValue sums) {
    const SsaProgram from(node.program);
    std::vector<PwValue> values;
    // Converted to an integer that only a store may read, for conversion cuts fractions off.
    std::vector<bool> cut;
    for (const SsaInstr& instr : from.instrs()) {
      if (instr.op == PwOp::kStore) {
        const auto at = static_cast<size_t>(instr.read[0]);
        stores_integer_ = is_integer_class(from.at(instr.read[0]).type) && !cut[at];
        return cut[at] && sums == kNothing ? kNothing : values[at];
      }
      PwValue read[3] = {};
      bool known = instr.type != PwClass::kDouble, is_cut = false;
      for (int i = 0; i < reads_of(instr.op); ++i) {
        const auto at = static_cast<size_t>(instr.read[i]);
        read[i] = values[at];
        known = known && read[i] != kNothing && !cut[at];
      }
      PwValue value = kNothing;
      if (known) {
        value =
            is_integer_class(instr.type) ? integer(instr, read, &is_cut, node, sums) : real(instr, read, node, sums);
        if (is_integer_class(instr.type) && !is_exact(value)) value = kNothing;
      }
      values.push_back(value);
      cut.push_back(is_cut);
    }
    return kNothing;
  }

  PwValue load(const ir::Node& node, const SsaInstr& instr, PwValue sums) {
    const ValueId id = node.inputs[static_cast<size_t>(node.core_inputs) + instr.operand];
    if (id == result_) return sums;
    const ir::Value& value = graph_.value(id);
    if (value.dtype != DType::kF32 && value.dtype != DType::kI8 && value.dtype != DType::kU8 &&
        value.dtype != DType::kI32) {
      return kNothing;
    }
    if (value.dtype == DType::kI32 && !value.is_constant()) return kNothing;
    if (const std::optional<double> one = splat_of(value)) return made_.program.constant(*one);
    if (value.is_constant() && value.dtype != DType::kF32) {
      Numbers numbers{constant_dims(value), {}};
      const size_t size = size_of(value.dtype);
      for (size_t i = 0; i < value.constant->size() / size; ++i) numbers.elements.push_back(element(value, i));
      return of_numbers(numbers);
    }
    const PwValue loaded = made_.program.load(operand(id), class_of(value.dtype));
    return made_.program.convert(loaded, PwClass::kFloat);
  }

  static double element(const ir::Value& value, size_t i) {
    const std::byte* at = value.constant->data() + i * size_of(value.dtype);
    int32_t wide;
    switch (value.dtype) {
      case DType::kI8: return static_cast<int8_t>(*at);
      case DType::kU8: return static_cast<uint8_t>(*at);
      default: std::memcpy(&wide, at, sizeof wide); return wide;
    }
  }

  int operand(ValueId id) {
    const auto at = std::find(made_.operands.begin(), made_.operands.end(), id);
    if (at != made_.operands.end()) return static_cast<int>(at - made_.operands.begin());
    made_.operands.push_back(id);
    return static_cast<int>(made_.operands.size()) - 1;
  }

  // Whether an integer, where it is known now, is the same in fp32. A sum past 2^24 is rounded by a part of 2^24 of
  // what it is, but less than that may be left when a number as large is added, of which no digit need be right.
  bool is_exact(PwValue value) const {
    const std::optional<Numbers> numbers = value == kNothing ? std::nullopt : numbers_of(value);
    return !numbers || std::all_of(numbers->elements.begin(), numbers->elements.end(),
                                   [](double x) { return std::abs(x) < 0x1p24; });
  }

  // An instruction on integers, as one on floats.
  PwValue integer(const SsaInstr& instr, const PwValue* read, bool* is_cut, const ir::Node& node, PwValue sums) {
    switch (instr.op) {
      case PwOp::kLoad: return load(node, instr, sums);
      case PwOp::kAcc: return made_.program.accumulator();
      case PwOp::kConst: return made_.program.constant(static_cast<double>(static_cast<int64_t>(instr.bits)));
      case PwOp::kConvert:
        *is_cut = instr.from == PwClass::kFloat && !range_of(made_.program, read[0]).integral;
        return instr.from == PwClass::kDouble ? kNothing : read[0];
      case PwOp::kNarrow: {
        const auto type = static_cast<DType>(instr.operand);
        return type == DType::kI32 || is_level(made_.program, read[0], type) ? read[0] : kNothing;
      }
      case PwOp::kAdd:
      case PwOp::kSub:
      case PwOp::kMin:
      case PwOp::kMax: return binary(instr.op, read[0], read[1]);
      default: return kNothing;
    }
  }

  PwValue real(const SsaInstr& instr, const PwValue* read, const ir::Node& node, PwValue sums) {
    switch (instr.op) {
      case PwOp::kLoad: return load(node, instr, sums);
      case PwOp::kAcc: return made_.program.accumulator();
      case PwOp::kConvert: return instr.from == PwClass::kDouble ? kNothing : read[0];
      case PwOp::kNarrow: return static_cast<DType>(instr.operand) == DType::kF32 ? read[0] : kNothing;
      case PwOp::kMulAdd: return binary(PwOp::kAdd, binary(PwOp::kMul, read[0], read[1]), read[2]);
      case PwOp::kAdd:
      case PwOp::kSub:
      case PwOp::kMul:
      case PwOp::kDiv:
      case PwOp::kMin:
      case PwOp::kMax: return binary(instr.op, read[0], read[1]);
      case PwOp::kRoundEven: return made_.program.unary(PwOp::kRoundEven, with_factor_inside(read[0]));
      default: break;
    }
    SsaInstr moved = instr;
    for (int i = 0; i < reads_of(instr.op); ++i) moved.read[i] = read[i];
    return made_.program.add(moved);
  }

  // ---- Arithmetic, of constants at once.

  std::optional<Numbers> numbers_of(PwValue value) const {
    const SsaInstr& instr = made_.program.at(value);
    if (instr.op == PwOp::kConst) return Numbers{{}, {instr.as_double()}};
    if (instr.op != PwOp::kLoad) return std::nullopt;
    const ir::Value& operand = graph_.value(made_.operands[instr.operand]);
    if (!operand.is_constant() || operand.dtype != DType::kF32) return std::nullopt;
    return Numbers{constant_dims(operand), float_elements(operand)};
  }

  PwValue of_numbers(const Numbers& numbers) {
    const double first = numbers.elements.empty() ? 0 : numbers.elements[0];
    if (std::all_of(numbers.elements.begin(), numbers.elements.end(), [&](double x) { return x == first; })) {
      return made_.program.constant(first);
    }
    return made_.program.load(operand(add_float_constant(graph_, name_ + "/numbers", numbers.dims, numbers.elements)));
  }

  // Rounded to fp32, as the program would do. nullopt where their dims differ.
  static std::optional<Numbers> compute(PwOp op, const Numbers& a, const Numbers& b) {
    const bool a_is_one = a.elements.size() == 1, b_is_one = b.elements.size() == 1;
    if (!a_is_one && !b_is_one && a.dims != b.dims) return std::nullopt;
    Numbers result{a_is_one ? b.dims : a.dims, {}};
    result.elements.resize(std::max(a.elements.size(), b.elements.size()));
    for (size_t i = 0; i < result.elements.size(); ++i) {
      const auto x = static_cast<float>(a.elements[a_is_one ? 0 : i]);
      const auto y = static_cast<float>(b.elements[b_is_one ? 0 : i]);
      switch (op) {
        case PwOp::kAdd: result.elements[i] = x + y; break;
        case PwOp::kSub: result.elements[i] = x - y; break;
        case PwOp::kMul: result.elements[i] = x * y; break;
        case PwOp::kDiv: result.elements[i] = x / y; break;
        default: return std::nullopt;
      }
    }
    return result;
  }

  PwValue binary(PwOp op, PwValue a, PwValue b) {
    if (a == kNothing || b == kNothing) return kNothing;
    const std::optional<Numbers> of_a = numbers_of(a), of_b = numbers_of(b);
    if (of_a && of_b) {
      if (const std::optional<Numbers> both = compute(op, *of_a, *of_b)) return of_numbers(*both);
    }
    if (op == PwOp::kDiv && of_b && !of_a && is_factor(*of_b)) {
      return scaled(a, *compute(PwOp::kDiv, {{}, {1.0}}, *of_b), *of_b);
    }
    if (op == PwOp::kMul && of_a) std::swap(a, b);
    const std::optional<Numbers>& factor = of_a ? of_a : of_b;
    if (op == PwOp::kMul && factor && is_factor(*factor) && made_.program.at(a).op == PwOp::kMul) {
      return scaled(a, *factor, *compute(PwOp::kDiv, {{}, {1.0}}, *factor));
    }
    // A division that has become a multiplication; not of levels, which are scaled when they are numbers again.
    const PwOp inner = made_.program.at(a).op;
    if (op == PwOp::kMul && factor && factor->elements.size() == 1 && is_factor(*factor) &&
        (inner == PwOp::kAdd || inner == PwOp::kMin || inner == PwOp::kMax) && !range_of(made_.program, a).integral) {
      return scaled(a, *factor, *compute(PwOp::kDiv, {{}, {1.0}}, *factor));
    }
    if (op == PwOp::kAdd && of_a) std::swap(a, b);
    return made_.program.binary(op, a, b);
  }

  // Numbers by which bounds may be multiplied, and whose reciprocals are numbers too.
  static bool is_factor(const Numbers& numbers) {
    return std::all_of(numbers.elements.begin(), numbers.elements.end(),
                       [](double x) { return x > 1e-30 && x < 1e30; });
  }

  // Whether multiplying by a number takes no operation in any part of `value`.
  bool takes_factor(PwValue value, int depth = kMostDepth) const {
    if (numbers_of(value)) return true;
    const SsaInstr instr = made_.program.at(value);
    switch (depth == 0 ? PwOp::kLoad : instr.op) {
      case PwOp::kMul: return numbers_of(instr.read[0]) || numbers_of(instr.read[1]);
      case PwOp::kAdd:
      case PwOp::kSub:
      case PwOp::kMin:
      case PwOp::kMax: return takes_factor(instr.read[0], depth - 1) && takes_factor(instr.read[1], depth - 1);
      default: return false;
    }
  }

  // What is rounded to levels, by whichever side its scale was divided: a product of numbers. Where it cannot vanish
  // in them it stays outside, behind sums of integers, which are exact.
  PwValue with_factor_inside(PwValue value) {
    const SsaInstr instr = made_.program.at(value);
    if (instr.op != PwOp::kMul) return value;
    for (const int side : {0, 1}) {
      const std::optional<Numbers> factor = numbers_of(instr.read[side]);
      if (!factor || !is_factor(*factor) || !takes_factor(instr.read[1 - side])) continue;
      return scaled(instr.read[1 - side], *factor, *compute(PwOp::kDiv, {{}, {1.0}}, *factor));
    }
    return value;
  }

  // value * factor, which is value / inverse, with the factor as far inside as it goes.
  PwValue scaled(PwValue value, const Numbers& factor, const Numbers& inverse, int depth = kMostDepth) {
    const SsaInstr instr = made_.program.at(value);
    if (const std::optional<Numbers> numbers = numbers_of(value)) {
      if (const std::optional<Numbers> by = compute(PwOp::kDiv, *numbers, inverse)) return of_numbers(*by);
    }
    switch (depth == 0 ? PwOp::kLoad : instr.op) {
      case PwOp::kMul:
        for (const int side : {1, 0}) {
          const std::optional<Numbers> other = numbers_of(instr.read[side]);
          const std::optional<Numbers> by = other ? compute(PwOp::kDiv, *other, inverse) : std::nullopt;
          if (by) return made_.program.binary(PwOp::kMul, instr.read[1 - side], of_numbers(*by));
        }
        break;
      case PwOp::kAdd:
      case PwOp::kSub:
      case PwOp::kMin:
      case PwOp::kMax: {
        const PwValue a = scaled(instr.read[0], factor, inverse, depth - 1);
        const PwValue b = scaled(instr.read[1], factor, inverse, depth - 1);
        return made_.program.binary(instr.op, a, b);
      }
      default: break;
    }
    return made_.program.binary(PwOp::kMul, value, of_numbers(factor));
  }

  ir::Graph& graph_;
  const std::string name_;
  ValueId result_ = ir::kNone;
  bool stores_integer_ = false;  // what was translated last
  ByteProgram made_;
};

}  // namespace

bool is_level(const SsaProgram& program, PwValue value, DType type) {
  if (type != DType::kI8 && type != DType::kU8) return false;
  const Range of = range_of(program, value);
  return of.integral && is_within(of, type);
}

namespace {

struct Exact {
  PwValue value;
  Range range;
};

bool is_held(const Range& range, PwClass type) {
  return range.integral && range.low > -0x1p24 && range.high < 0x1p24 && (type != PwClass::kUint || range.low >= 0);
}

std::optional<Exact> exact_float(SsaProgram& program, PwValue value, const std::vector<DType>& types, int depth) {
  const SsaInstr instr = program.at(value);
  if (depth == 0 || !is_integer_class(instr.type)) return std::nullopt;
  const auto held = [&](PwValue result, const Range& range) {
    return is_held(range, instr.type) ? std::optional<Exact>({result, range}) : std::nullopt;
  };
  std::optional<Exact> read[2];
  for (int i = 0; i < 2 && i < reads_of(instr.op); ++i) read[i] = exact_float(program, instr.read[i], types, depth - 1);
  switch (instr.op) {
    case PwOp::kConst: {
      const auto number = static_cast<double>(static_cast<int64_t>(instr.bits));
      return held(program.constant(number), {number, number, true});
    }
    case PwOp::kLoad:
      if (types[instr.operand] != DType::kU8 && types[instr.operand] != DType::kI8) return std::nullopt;
      return held(program.convert(value, PwClass::kFloat), range_of_type(types[instr.operand]));
    case PwOp::kConvert:
      if (instr.from == PwClass::kFloat) return held(instr.read[0], range_of(program, instr.read[0]));
      return read[0] ? held(read[0]->value, read[0]->range) : std::nullopt;
    case PwOp::kNarrow: {
      if (!read[0]) return std::nullopt;
      const auto type = static_cast<DType>(instr.operand);
      const bool is_byte = type == DType::kU8 || type == DType::kI8;
      if (is_byte ? !is_within(read[0]->range, type) : type != DType::kI32) return std::nullopt;
      return held(read[0]->value, read[0]->range);
    }
    case PwOp::kAdd:
    case PwOp::kSub: {
      if (!read[0] || !read[1]) return std::nullopt;
      const Range &a = read[0]->range, &b = read[1]->range;
      const Range range = instr.op == PwOp::kAdd ? Range{a.low + b.low, a.high + b.high, true}
                                                 : Range{a.low - b.high, a.high - b.low, true};
      if (!is_held(range, instr.type)) return std::nullopt;
      return Exact{program.binary(instr.op, read[0]->value, read[1]->value), range};
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<PwValue> as_float(SsaProgram& program, PwValue value, const std::vector<DType>& types) {
  const std::optional<Exact> found = exact_float(program, value, types, kMostDepth);
  return found ? std::optional<PwValue>(found->value) : std::nullopt;
}

std::optional<ByteProgram> joined_byte_program(ir::Graph& graph, const ir::Node& contraction,
                                               const ir::Node& pointwise) {
  return Joiner(graph, contraction).run(contraction, pointwise);
}

}  // namespace planwright::builder
