// Building expressions: every operation ends in the canonical form (expr_node.h).
#include "builder/ir/dim.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "builder/ir/expr_node.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

// The pool of an expression of two operands, at least one of which is no constant.
ExprPool::Impl& pool_of(Dim a, Dim b) {
  ExprPool::Impl* pool = a.is_constant() ? b.node()->pool : a.node()->pool;
  if (!b.is_constant() && b.node()->pool != pool) throw std::logic_error("dims of two graphs in one expression");
  return *pool;
}

Dim sum(Dim a, Dim b, int64_t factor) {
  Poly poly = poly_of(a);
  add_scaled(&poly, poly_of(b), factor);
  if (poly.terms.empty()) return poly.constant;
  return pool_of(a, b).of(std::move(poly));
}

// The atom, when the term is a bare quotient by a constant.
const ExprNode* as_quotient(const Term& term) {
  if (term.coefficient != 1 || term.atoms.size() != 1) return nullptr;
  const ExprNode* atom = term.atoms[0];
  return atom->op == ExprOp::kFloorDiv && atom->b.is_constant() ? atom : nullptr;
}

// floor(a / b), b >= 2, a no constant.
Dim floor_div_constant(ExprPool::Impl& pool, const Poly& a, int64_t b) {
  // a = b * quotient + rest, the coefficients of rest in [0, b).
  Poly quotient{{}, floor_quotient(a.constant, b)};
  Poly rest{{}, floor_remainder(a.constant, b)};
  int64_t divisor = b;
  for (const Term& term : a.terms) {
    const int64_t whole = floor_quotient(term.coefficient, b);
    const int64_t part = floor_remainder(term.coefficient, b);
    add_scaled(&quotient, monomial({whole, term.atoms}), 1);
    add_scaled(&rest, monomial({part, term.atoms}), 1);
    divisor = std::gcd(divisor, part);
  }
  if (rest.terms.empty()) return pool.of(std::move(quotient));
  // floor((g*p + c) / (g*b)) = floor((p + floor(c/g)) / b).
  for (Term& term : rest.terms) term.coefficient /= divisor;
  rest.constant = floor_quotient(rest.constant, divisor);
  b /= divisor;

  // floor((floor(x/y) + z) / b) = floor((x + y*z) / (y*b)): chains of strides become one quotient.
  for (const Term& term : rest.terms) {
    const ExprNode* inner = as_quotient(term);
    int64_t combined = 0;
    if (inner == nullptr || !checked_mul(inner->b.constant(), b, &combined)) continue;
    Poly numerator = poly_of(inner->a);
    add_scaled(&rest, monomial(term), -1);
    add_scaled(&numerator, rest, inner->b.constant());
    return pool.of(std::move(quotient)) + floor_div(pool.of(std::move(numerator)), combined);
  }

  const Interval range = range_of(rest);
  if (floor_quotient(range.min, b) == floor_quotient(range.max, b)) {
    add_scaled(&quotient, Poly{{}, floor_quotient(range.min, b)}, 1);
    return pool.of(std::move(quotient));
  }
  return pool.of(std::move(quotient)) + pool.atom(ExprOp::kFloorDiv, pool.of(std::move(rest)), b);
}

void measure(ExprNode* node) {
  const auto add = [node](Dim part) {
    node->nesting = std::max(node->nesting, part.is_constant() ? 0 : part.node()->nesting);
    node->written_out += part.is_constant() ? 1 : part.node()->written_out;
  };
  for (const Term& term : node->poly.terms) {
    for (const ExprNode* atom : term.atoms) add(Dim::of_node(atom));
  }
  if (node->is_atom() && node->op != ExprOp::kSymbol) {
    add(node->a);
    add(node->b);
    ++node->nesting;
  }
  if (node->nesting > kMaxNesting || node->written_out > kMaxWrittenOut) {
    throw Error(StatusCode::kUnsupported, "a dimension's expression is too long, or nested too deep");
  }
}

// Takes a factor that every term of both has, and that is never negative, out of a and b.
void cancel_common_atoms(Poly* a, Poly* b) {
  if (a->constant != 0 || b->constant != 0 || b->terms.empty()) return;
  const std::vector<const ExprNode*> candidates = b->terms.front().atoms;
  for (const ExprNode* atom : candidates) {
    const Poly factor{{Term{1, {atom}}}, 0};
    if (range_of(Dim::of_node(atom)).min < 0) continue;
    std::optional<Poly> less_a = divide_exactly(*a, factor), less_b = divide_exactly(*b, factor);
    if (!less_a || !less_b) continue;
    *a = std::move(*less_a);
    *b = std::move(*less_b);
    if (a->constant != 0 || b->constant != 0) return;
  }
}

enum class Pick { kMin, kMax };

Dim pick(Dim a, Dim b, Pick which) {
  if (proven_at_most(a, b)) return which == Pick::kMin ? a : b;
  if (proven_at_most(b, a)) return which == Pick::kMin ? b : a;
  // One order of the operands: constants last, older nodes first.
  if (a.is_constant() || (!b.is_constant() && b.node()->id < a.node()->id)) std::swap(a, b);
  return pool_of(a, b).atom(which == Pick::kMin ? ExprOp::kMin : ExprOp::kMax, a, b);
}

}  // namespace

const ExprNode* ExprPool::Impl::intern(ExprNode node) {
  measure(&node);
  std::vector<int64_t> key{static_cast<int64_t>(node.op)};
  if (node.op == ExprOp::kSymbol) {
    key.push_back(node.symbol);
  } else if (node.is_atom()) {
    for (Dim operand : {node.a, node.b}) {
      key.push_back(operand.is_constant() ? -1 : operand.node()->id);
      key.push_back(operand.is_constant() ? operand.constant() : 0);
    }
  } else {
    key.push_back(node.poly.constant);
    for (const Term& term : node.poly.terms) {
      key.push_back(term.coefficient);
      key.push_back(static_cast<int64_t>(term.atoms.size()));
      for (const ExprNode* atom : term.atoms) key.push_back(atom->id);
    }
  }
  std::unique_ptr<ExprNode>& slot = nodes[std::move(key)];
  if (slot == nullptr) {
    node.pool = this;
    node.id = static_cast<int32_t>(nodes.size());
    slot = std::make_unique<ExprNode>(std::move(node));
  }
  return slot.get();
}

Dim ExprPool::Impl::atom(ExprOp op, Dim a, Dim b) {
  ExprNode node;
  node.op = op;
  node.a = a;
  node.b = b;
  return Dim::of_node(intern(std::move(node)));
}

Dim ExprPool::Impl::of(Poly poly) {
  if (poly.terms.empty()) return poly.constant;
  const Term& first = poly.terms.front();
  if (poly.constant == 0 && poly.terms.size() == 1 && first.coefficient == 1 && first.atoms.size() == 1) {
    return Dim::of_node(first.atoms[0]);
  }
  ExprNode node;
  node.op = ExprOp::kAdd;
  node.poly = std::move(poly);
  return Dim::of_node(intern(std::move(node)));
}

ExprPool::ExprPool() : impl_(std::make_unique<Impl>()) {}
ExprPool::~ExprPool() = default;

Dim ExprPool::add_symbol(Symbol symbol) {
  const auto index = static_cast<int32_t>(impl_->symbols.size());
  ExprNode node;
  node.op = ExprOp::kSymbol;
  node.symbol = index;
  impl_->symbols.push_back(std::move(symbol));
  impl_->symbol_nodes.push_back(impl_->intern(std::move(node)));
  return this->symbol(index);
}

const std::vector<Symbol>& ExprPool::symbols() const { return impl_->symbols; }

Dim ExprPool::symbol(int index) { return Dim::of_node(impl_->symbol_nodes.at(static_cast<size_t>(index))); }

void ExprPool::set_range(int index, int64_t min, int64_t max) {
  Symbol& symbol = impl_->symbols.at(static_cast<size_t>(index));
  symbol.min = min;
  symbol.max = max;
  ++impl_->version;
}

Dim operator+(Dim a, Dim b) { return sum(a, b, 1); }

Dim operator-(Dim a, Dim b) { return sum(a, b, -1); }

Dim operator*(Dim a, Dim b) {
  Poly poly = multiply(poly_of(a), poly_of(b));
  if (poly.terms.empty()) return poly.constant;
  return pool_of(a, b).of(std::move(poly));
}

Dim floor_div(Dim a, Dim b) {
  if (b.is_constant() && b.constant() <= 0) {
    throw Error(StatusCode::kInvalid, "a dimension is divided by " + std::to_string(b.constant()));
  }
  if (b == Dim(1)) return a;
  if (a.is_constant() && (b.is_constant() || a.constant() == 0)) {
    return a.constant() == 0 ? 0 : floor_quotient(a.constant(), b.constant());
  }
  ExprPool::Impl& pool = pool_of(a, b);
  Poly numerator = poly_of(a), denominator = poly_of(b);
  if (!b.is_constant()) {
    if (std::optional<Poly> quotient = divide_exactly(numerator, denominator)) return pool.of(std::move(*quotient));
    cancel_common_atoms(&numerator, &denominator);
    if (denominator.terms.empty()) return floor_div(pool.of(std::move(numerator)), denominator.constant);
    const Dim quotient = pool.atom(ExprOp::kFloorDiv, pool.of(std::move(numerator)), pool.of(std::move(denominator)));
    const Interval range = range_of(quotient);
    return range.min == range.max ? Dim(range.min) : quotient;
  }
  return floor_div_constant(pool, numerator, b.constant());
}

Dim ceil_div(Dim a, Dim b) { return floor_div(a + b - 1, b); }

Dim mod(Dim a, Dim b) { return a - b * floor_div(a, b); }

Dim min(Dim a, Dim b) { return pick(a, b, Pick::kMin); }

Dim max(Dim a, Dim b) { return pick(a, b, Pick::kMax); }

Dim product(const Shape& dims) {
  Dim result = 1;
  for (Dim dim : dims) result = result * dim;
  return result;
}

}  // namespace planwright::ir
