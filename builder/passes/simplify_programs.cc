// Inside a program: constants become immediates and are computed, operations that change nothing go, dear ones become
// cheap ones. A result changes by no more than rounding (the sign of a zero counts as that).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "builder/passes/byte_programs.h"
#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaInstr;
using ir::SsaProgram;

bool is_float_class(PwClass type) { return type == PwClass::kFloat || type == PwClass::kDouble; }

// A reciprocal is exact, so that x/c is x*(1/c), when c is a power of two whose reciprocal is a normal number too.
bool has_exact_reciprocal(double value) {
  int exponent = 0;
  return std::isfinite(value) && std::abs(std::frexp(value, &exponent)) == 0.5 && std::abs(exponent) < 120;
}

// What an operation makes of constants, where every kernel agrees on it to the last bit: the correctly rounded ones.
std::optional<double> fold(PwOp op, PwClass type, double a, double b) {
  const bool single = type == PwClass::kFloat;
  const auto x = static_cast<float>(a), y = static_cast<float>(b);
  switch (op) {
    case PwOp::kNeg: return -a;
    case PwOp::kAbs: return std::abs(a);
    case PwOp::kSqrt: return single ? std::sqrt(x) : std::sqrt(a);
    case PwOp::kReciprocal: return single ? 1.0f / x : 1.0 / a;
    case PwOp::kAdd: return single ? x + y : a + b;
    case PwOp::kSub: return single ? x - y : a - b;
    case PwOp::kMul: return single ? x * y : a * b;
    case PwOp::kDiv: return single ? x / y : a / b;
    case PwOp::kMin: return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case PwOp::kMax: return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    default: return std::nullopt;
  }
}

// A factor far from where products over- or underflow, so that two of them may be joined.
bool is_moderate(double factor) { return std::abs(factor) > 0x1p-40 && std::abs(factor) < 0x1p40; }

class Simplifier {
 public:
  explicit Simplifier(const ir::Graph& graph, const ir::Node& node) : graph_(graph), node_(node), from_(node.program) {
    for (size_t i = static_cast<size_t>(node.core_inputs); i < node.inputs.size(); ++i) {
      types_.push_back(graph.value(node.inputs[i]).dtype);
    }
  }

  SsaProgram run() {
    for (const SsaInstr& instr : from_.instrs()) {
      SsaInstr moved = instr;
      for (int r = 0; r < reads_of(instr.op); ++r) moved.read[r] = values_[static_cast<size_t>(instr.read[r])];
      values_.push_back(simplified(moved));
    }
    return std::move(to_);
  }

 private:
  PwValue simplified(const SsaInstr& instr) {
    if (instr.op == PwOp::kLoad) return load(instr);
    if (instr.op == PwOp::kNarrow) return narrow(instr);
    if (instr.op == PwOp::kConvert) return convert(instr);
    if (instr.op == PwOp::kStore || !is_float_class(instr.type)) return to_.add(instr);
    const std::optional<double> a = constant(instr, 0), b = constant(instr, 1);
    const int reads = reads_of(instr.op);
    if (reads >= 1 && reads <= 2 && a && (reads == 1 || b)) {
      if (const std::optional<double> value = fold(instr.op, instr.type, *a, reads == 2 ? *b : 0)) {
        return to_.constant(*value, instr.type);
      }
    }
    switch (instr.op) {
      case PwOp::kNeg: return negate(instr);
      case PwOp::kAdd: return add(instr, a, b);
      case PwOp::kSub: return b == 0.0 ? instr.read[0] : to_.add(instr);
      case PwOp::kMul: return multiply(instr, a, b);
      case PwOp::kDiv: return divide(instr, a, b);
      case PwOp::kRoundEven: return to_.unary(PwOp::kRoundEven, scaled_before_rounding(instr.read[0]));
      case PwOp::kPow: return b ? power(instr, *b) : to_.add(instr);
      case PwOp::kMin:
      case PwOp::kMax: return bound(instr, a, b);
      default: return to_.add(instr);
    }
  }

  std::optional<double> constant(const SsaInstr& instr, int read) const {
    if (read >= reads_of(instr.op)) return std::nullopt;
    const SsaInstr& source = to_.at(instr.read[read]);
    if (source.op != PwOp::kConst || !is_float_class(source.type)) return std::nullopt;
    return source.as_double();
  }

  // An operand that is one number throughout becomes that number.
  PwValue load(const SsaInstr& instr) {
    const ir::Value& value = graph_.value(node_.inputs[static_cast<size_t>(node_.core_inputs) + instr.operand]);
    const std::optional<double> splat = splat_of(value);
    if (!splat) return to_.add(instr);
    if (is_float_class(instr.type)) return to_.constant(*splat, instr.type);
    return to_.constant_int(static_cast<int64_t>(*splat), instr.type);
  }

  // To double and back nothing is lost; nor by storing levels as bytes.
  PwValue convert(const SsaInstr& instr) {
    if (instr.type == PwClass::kFloat && instr.from != PwClass::kDouble && to_.at(instr.read[0]).op != PwOp::kLoad) {
      if (const std::optional<PwValue> same = as_float(to_, instr.read[0], types_)) return *same;
    }
    // From one class of integers to the other: levels at once.
    if (!is_float_class(instr.type) && !is_float_class(instr.from) && to_.at(instr.read[0]).op == PwOp::kConvert) {
      const SsaInstr inner = to_.at(instr.read[0]);
      if (inner.from == PwClass::kFloat && is_level(to_, inner.read[0], DType::kU8)) {
        return to_.convert(inner.read[0], instr.type);
      }
    }
    const SsaInstr& source = to_.at(instr.read[0]);
    const bool back = source.op == PwOp::kConvert && source.from == PwClass::kFloat &&
                      source.type == PwClass::kDouble && instr.type == PwClass::kFloat;
    return back ? source.read[0] : to_.add(instr);
  }

  // What is already representable in the type stays as it is.
  PwValue narrow(const SsaInstr& instr) {
    const SsaInstr& source = to_.at(instr.read[0]);
    const auto type = static_cast<DType>(instr.operand);
    if (source.op == PwOp::kNarrow && source.operand == instr.operand) return instr.read[0];
    if (type == DType::kF32 && instr.type == PwClass::kFloat) return instr.read[0];
    if (type == DType::kF64 || type == DType::kI64 || type == DType::kU64) return instr.read[0];
    if (source.op == PwOp::kLoad) {
      const ir::Value& value = graph_.value(node_.inputs[static_cast<size_t>(node_.core_inputs) + source.operand]);
      if (value.dtype == type) return instr.read[0];
    }
    if (type == DType::kBool && is_truth(source)) return instr.read[0];
    return to_.add(instr);
  }

  // Whether a value is 0 or 1.
  bool is_truth(const SsaInstr& source) const {
    if (source.op == PwOp::kConvert) return is_truth(to_.at(source.read[0]));
    return (source.op >= PwOp::kEqual && source.op <= PwOp::kXor) || source.op == PwOp::kNot ||
           source.op == PwOp::kIsNan || source.op == PwOp::kIsInf;
  }

  PwValue negate(const SsaInstr& instr) {
    const SsaInstr& source = to_.at(instr.read[0]);
    return source.op == PwOp::kNeg ? source.read[0] : to_.add(instr);
  }

  // Constants stand second in what commutes, so that x+1 and 1+x are one program.
  PwValue ordered(SsaInstr instr, const std::optional<double>& a, const std::optional<double>& b) {
    if (a && !b) std::swap(instr.read[0], instr.read[1]);
    return to_.add(instr);
  }

  PwValue add(const SsaInstr& instr, const std::optional<double>& a, const std::optional<double>& b) {
    if (b == 0.0) return instr.read[0];
    if (a == 0.0) return instr.read[1];
    return ordered(instr, a, b);
  }

  PwValue multiply(const SsaInstr& instr, const std::optional<double>& a, const std::optional<double>& b) {
    if (b == 1.0) return instr.read[0];
    if (a == 1.0) return instr.read[1];
    if (b == -1.0) return to_.unary(PwOp::kNeg, instr.read[0]);
    if (a == -1.0) return to_.unary(PwOp::kNeg, instr.read[1]);
    if (a || b) {
      if (const PwValue joined = scaled(b ? instr.read[0] : instr.read[1], b ? *b : *a); joined >= 0) return joined;
    }
    return ordered(instr, a, b);
  }

  // `value` times `factor` where the value is a product or quotient with a constant itself: one multiplication, with
  // one rounding where there were two. -1 elsewhere.
  PwValue scaled(PwValue value, double factor) {
    const SsaInstr source = to_.at(value);
    if (source.op != PwOp::kMul && source.op != PwOp::kDiv) return -1;
    const std::optional<double> inner = constant(source, 1);
    if (!inner || !is_moderate(*inner) || !is_moderate(factor)) return -1;
    const double joined = source.op == PwOp::kMul ? *inner * factor : factor / *inner;
    const double held = source.type == PwClass::kFloat ? static_cast<float>(joined) : joined;
    return to_.binary(PwOp::kMul, source.read[0], to_.constant(held, source.type));
  }

  // A product that is divided and then rounded to levels, as numbers of one scale that become those of another are, may
  // as well be one product.
  PwValue scaled_before_rounding(PwValue value) {
    const SsaInstr source = to_.at(value);
    if (source.op != PwOp::kDiv || source.type != PwClass::kFloat) return value;
    const std::optional<double> by = constant(source, 1);
    const PwOp inner = to_.at(source.read[0]).op;
    if (!by || !is_moderate(*by)) return value;
    const PwValue joined = inner == PwOp::kMul ? scaled(source.read[0], 1.0 / *by) : -1;
    if (joined >= 0) return joined;
    // Of what was stored ties are meant, and behind a contraction factors go to its sums (byte_programs.cc).
    if (inner == PwOp::kLoad || inner == PwOp::kConvert || !stands_alone()) return value;
    const auto factor = static_cast<double>(static_cast<float>(1.0 / *by));
    return to_.binary(PwOp::kMul, source.read[0], to_.constant(factor, PwClass::kFloat));
  }

  // Whether the program is not, nor will be, behind sums of integers.
  bool stands_alone() const {
    if (node_.kind != OpKind::kPointwise) return graph_.value(node_.inputs[0]).dtype == DType::kF32;
    return std::none_of(node_.inputs.begin(), node_.inputs.end(), [&](ir::ValueId id) {
      const ir::Node* producer = producer_of(graph_, id);
      return producer != nullptr && takes_epilogue(producer->kind) && graph_.value(id).dtype != DType::kF32;
    });
  }

  PwValue divide(const SsaInstr& instr, const std::optional<double>& a, const std::optional<double>& b) {
    if (b == 1.0) return instr.read[0];
    if (b && has_exact_reciprocal(*b)) {
      return to_.binary(PwOp::kMul, instr.read[0], to_.constant(1.0 / *b, instr.type));
    }
    if (a == 1.0) return to_.unary(PwOp::kReciprocal, instr.read[1]);
    return to_.add(instr);
  }

  PwValue power(const SsaInstr& instr, double exponent) {
    const PwValue x = instr.read[0];
    if (exponent == 1.0) return x;
    if (exponent == 2.0) return to_.binary(PwOp::kMul, x, x);
    if (exponent == 3.0) return to_.binary(PwOp::kMul, to_.binary(PwOp::kMul, x, x), x);
    if (exponent == 0.5) return to_.unary(PwOp::kSqrt, x);
    if (exponent == -0.5) return to_.unary(PwOp::kReciprocal, to_.unary(PwOp::kSqrt, x));
    if (exponent == -1.0) return to_.unary(PwOp::kReciprocal, x);
    return to_.add(instr);
  }

  // max(max(x, a), b) is max(x, max(a, b)); bounds that bound nothing go.
  PwValue bound(const SsaInstr& instr, const std::optional<double>& a, const std::optional<double>& b) {
    if (!a && !b) return instr.read[0] == instr.read[1] ? instr.read[0] : to_.add(instr);
    const PwValue x = b ? instr.read[0] : instr.read[1];
    const double limit = b ? *b : *a;
    if (limit == (instr.op == PwOp::kMax ? -INFINITY : INFINITY)) return x;
    const SsaInstr& source = to_.at(x);
    if (source.op == instr.op) {
      const std::optional<double> inner = constant(source, 1);
      const std::optional<double> both = inner ? fold(instr.op, instr.type, limit, *inner) : std::nullopt;
      if (both) return to_.binary(instr.op, source.read[0], to_.constant(*both, instr.type));
    }
    return ordered(instr, a, b);
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const SsaProgram from_;
  std::vector<DType> types_;  // of its operands
  SsaProgram to_;
  std::vector<PwValue> values_;  // in to_, of each value of from_
};

bool same_program(const std::vector<PwInstr>& a, const std::vector<PwInstr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PwInstr& x, const PwInstr& y) {
    return std::bit_cast<std::array<char, sizeof(PwInstr)>>(x) == std::bit_cast<std::array<char, sizeof(PwInstr)>>(y);
  });
}

// A contraction's epilogue that only stores the accumulator is none.
bool is_identity(const SsaProgram& program) {
  const PwValue stored = program.stored(0);
  return stored >= 0 && program.at(stored).op == PwOp::kAcc;
}

bool simplify(ir::Graph& graph, ir::Node& node) {
  ir::Node simpler = node;
  const std::vector<ir::ValueId> operands(node.inputs.begin() + node.core_inputs, node.inputs.end());
  const SsaProgram program = Simplifier(graph, node).run();
  if (node.kind != OpKind::kPointwise && is_identity(program)) {
    simpler.program.clear();
    simpler.inputs.resize(static_cast<size_t>(node.core_inputs));
  } else if (!set_program(simpler, program, operands)) {
    return false;
  }
  if (same_program(simpler.program, node.program) && simpler.inputs == node.inputs) return false;
  node = std::move(simpler);
  return true;
}

}  // namespace

bool simplify_programs(ir::Graph& graph) {
  bool changed = false;
  for (ir::NodeId id : graph.order()) {
    ir::Node& node = graph.node(id);
    if (!node.program.empty()) changed |= simplify(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
