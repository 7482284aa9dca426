// Interval arithmetic over expressions and the proofs that rest on it.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "builder/ir/expr_node.h"
#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

// int64's limits stand for "no bound" and stay themselves in arithmetic, so that a bound that saturated is never
// brought back into range by what is added next.
constexpr int64_t kNoMin = INT64_MIN;
constexpr int64_t kNoMax = INT64_MAX;

int64_t clamp(__int128 value) {
  return value <= kNoMin ? kNoMin : value >= kNoMax ? kNoMax : static_cast<int64_t>(value);
}

bool unbounded(int64_t bound) { return bound == kNoMin || bound == kNoMax; }

int64_t multiply_bounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (unbounded(a) || unbounded(b)) return (a < 0) == (b < 0) ? kNoMax : kNoMin;
  return clamp(static_cast<__int128>(a) * b);
}

Interval multiply(Interval a, Interval b) {
  const auto [low, high] = std::minmax({multiply_bounds(a.min, b.min), multiply_bounds(a.min, b.max),
                                        multiply_bounds(a.max, b.min), multiply_bounds(a.max, b.max)});
  return {low, high};
}

// `none`: the limit that stays (kNoMin where lower bounds are added, kNoMax where upper ones are).
int64_t add_bounds(int64_t a, int64_t b, int64_t none) {
  return a == none || b == none ? none : clamp(static_cast<__int128>(a) + b);
}

Interval add(Interval a, Interval b) { return {add_bounds(a.min, b.min, kNoMin), add_bounds(a.max, b.max, kNoMax)}; }

int64_t divide_bound(int64_t a, int64_t b) { return unbounded(a) ? a : floor_quotient(a, b); }

Interval floor_divide(Interval a, Interval b) {
  // Divisors are positive: an assignment that makes one 0 is refused when it is evaluated.
  const int64_t least = std::max<int64_t>(b.min, 1), most = std::max(least, b.max);
  return {divide_bound(a.min, a.min >= 0 ? most : least), divide_bound(a.max, a.max >= 0 ? least : most)};
}

class Ranges {
 public:
  // Null: the pool's own ranges, remembered in the nodes.
  explicit Ranges(const SymbolRange* symbols) : symbols_(symbols) {}

  Interval of(Dim dim) {
    if (dim.is_constant()) return {dim.constant(), dim.constant()};
    return of(*dim.node());
  }

  Interval of(const Poly& poly) {
    Poly negative;
    try {
      add_scaled(&negative, poly, -1);
    } catch (const Error&) {
      return plain(poly);
    }
    const int64_t low = lower_bound(poly, kMaxSubstitutions), high = lower_bound(negative, kMaxSubstitutions);
    return {low, high == kNoMin ? kNoMax : -high};
  }

 private:
  // Bounds a chain of substitutions; each one removes a quotient, min or max from a polynomial.
  static constexpr int kMaxSubstitutions = 6;

  Interval of(const ExprNode& node) {
    if (symbols_ == nullptr) {
      if (node.range_version != node.pool->version) {
        node.range = compute(node);
        node.range_version = node.pool->version;
      }
      return node.range;
    }
    const auto known = memo_.find(&node);
    if (known != memo_.end()) return known->second;
    const Interval range = compute(node);
    memo_.emplace(&node, range);
    return range;
  }

  Interval compute(const ExprNode& node) {
    switch (node.op) {
      case ExprOp::kSymbol: {
        const Symbol& symbol = node.pool->symbols[static_cast<size_t>(node.symbol)];
        return symbols_ == nullptr ? Interval{symbol.min, symbol.max} : (*symbols_)(symbol, node.symbol);
      }
      case ExprOp::kFloorDiv: return floor_divide(of(node.a), of(node.b));
      case ExprOp::kMin: {
        const Interval a = of(node.a), b = of(node.b);
        return {std::min(a.min, b.min), std::min(a.max, b.max)};
      }
      case ExprOp::kMax: {
        const Interval a = of(node.a), b = of(node.b);
        return {std::max(a.min, b.min), std::max(a.max, b.max)};
      }
      default: return of(node.poly);
    }
  }

  // Term by term, as if no two terms had an atom in common.
  Interval plain(const Poly& poly) {
    Interval sum{poly.constant, poly.constant};
    for (const Term& term : poly.terms) {
      Interval product{term.coefficient, term.coefficient};
      for (const ExprNode* atom : term.atoms) product = multiply(product, of(*atom));
      sum = add(sum, product);
    }
    return sum;
  }

  // The best lower bound: plain, or with an operation replaced by what bounds it, so that x - 2*floor(x/2) is seen to
  // be at least 0 and x - min(x, y) too.
  int64_t lower_bound(const Poly& poly, int depth) {
    const int64_t direct = plain(poly).min;
    if (depth == 0 || poly.terms.size() < 2) return direct;
    for (const Term& term : poly.terms) {
      for (size_t i = 0; i < term.atoms.size(); ++i) {
        const ExprNode& atom = *term.atoms[i];
        if (atom.op == ExprOp::kSymbol || !others_not_negative(term, i)) continue;
        try {
          return std::max(direct, substituted_bound(poly, term, i, depth));
        } catch (const Error&) {  // it overflows when written out
          return direct;
        }
      }
    }
    return direct;
  }

  bool others_not_negative(const Term& term, size_t except) {
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i != except && of(*term.atoms[i]).min < 0) return false;
    }
    return true;
  }

  // A lower bound of poly, atom `at` of its `term` replaced. The other factors of the term are never negative.
  int64_t substituted_bound(const Poly& poly, const Term& term, size_t at, int depth) {
    const ExprNode& atom = *term.atoms[at];
    Poly factor{{}, term.coefficient};
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i != at) factor = planwright::ir::multiply(factor, Poly{{Term{1, {term.atoms[i]}}}, 0});
    }
    Poly rest = poly;
    add_scaled(&rest, monomial(term), -1);
    const auto with = [&](const Poly& replacement, int64_t scale) {
      Poly sum;
      add_scaled(&sum, rest, scale);
      add_scaled(&sum, planwright::ir::multiply(factor, replacement), 1);
      return lower_bound(sum, depth - 1);
    };
    const bool positive = term.coefficient > 0;
    if (atom.op == ExprOp::kFloorDiv) {
      // (a - b + 1) / b <= floor(a/b) <= a / b, and poly is an integer.
      if (!atom.b.is_constant()) return kNoMin;
      const int64_t divisor = atom.b.constant();
      Poly replacement = poly_of(atom.a);
      if (positive) add_scaled(&replacement, Poly{{}, 1 - divisor}, 1);
      const int64_t scaled = with(replacement, divisor);
      return unbounded(scaled) ? scaled : -floor_quotient(-scaled, divisor);
    }
    const int64_t a = with(poly_of(atom.a), 1), b = with(poly_of(atom.b), 1);
    // min(a, b) is one of them, and at most either; max likewise from below.
    const bool either = (atom.op == ExprOp::kMin) != positive;
    return either ? std::max(a, b) : std::min(a, b);
  }

  const SymbolRange* symbols_;
  std::unordered_map<const ExprNode*, Interval> memo_;
};

bool is_op(Dim dim, ExprOp op) { return !dim.is_constant() && dim.node()->op == op; }

// a - b, unless it overflows.
std::optional<Dim> difference(Dim a, Dim b) {
  try {
    return a - b;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Nested min and max on both sides can be taken apart in more orders than can be tried.
constexpr int kMaxProofSteps = 256;

bool at_most(Dim a, Dim b, int* steps) {
  if (range_of(a).max <= range_of(b).min) return true;
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  const auto has_operand = [](Dim dim, ExprOp op, Dim operand) {
    return is_op(dim, op) && (dim.node()->a == operand || dim.node()->b == operand);
  };
  if (a == b || has_operand(a, ExprOp::kMin, b) || has_operand(b, ExprOp::kMax, a)) return true;
  if (--*steps < 0) return false;
  const auto part = [steps](Dim x, Dim y) { return at_most(x, y, steps); };
  if (is_op(a, ExprOp::kMin) && (part(a.node()->a, b) || part(a.node()->b, b))) return true;
  if (is_op(b, ExprOp::kMax) && (part(a, b.node()->a) || part(a, b.node()->b))) return true;
  if (is_op(a, ExprOp::kMax) && part(a.node()->a, b) && part(a.node()->b, b)) return true;
  if (is_op(b, ExprOp::kMin) && part(a, b.node()->a) && part(a, b.node()->b)) return true;
  const std::optional<Dim> d = difference(b, a);
  return d && range_of(*d).min >= 0;
}

}  // namespace

Interval range_of(const Poly& poly) { return Ranges(nullptr).of(poly); }

Interval range_of(Dim dim) { return Ranges(nullptr).of(dim); }

Interval range_of(Dim dim, const SymbolRange& symbols) { return Ranges(&symbols).of(dim); }

bool proven_equal(Dim a, Dim b) {
  if (a == b) return true;
  const std::optional<Dim> d = difference(a, b);
  if (!d) return false;
  const Interval range = range_of(*d);
  return range.min == 0 && range.max == 0;
}

bool proven_different(Dim a, Dim b) {
  if (a == b) return false;
  const std::optional<Dim> d = difference(a, b);
  if (!d) return a.is_constant() && b.is_constant();
  const Interval range = range_of(*d);
  if (range.min > 0 || range.max < 0) return true;
  // A sum whose coefficients share a divisor that its constant lacks is never 0.
  const Poly poly = poly_of(*d);
  int64_t divisor = 0;
  for (const Term& term : poly.terms) divisor = std::gcd(divisor, term.coefficient);
  return divisor != 0 && poly.constant % divisor != 0;
}

bool proven_at_most(Dim a, Dim b) {
  int steps = kMaxProofSteps;
  return at_most(a, b, &steps);
}

bool proven_divisible(Dim a, Dim by) {
  try {
    return proven_equal(mod(a, by), 0);
  } catch (const Error&) {
    return false;
  }
}

bool is_multiple(Dim a, Dim b) {
  try {
    return divide_exactly(poly_of(a), poly_of(b)).has_value();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace planwright::ir
