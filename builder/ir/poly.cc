#include <algorithm>

#include "builder/ir/expr_node.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

// Far more than a model's shapes ever need; a bound on what a hostile one can make us multiply out.
constexpr size_t kMaxTerms = 1024;

[[noreturn]] void throw_overflow() { throw Overflow(); }

int64_t add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!checked_add(a, b, &result)) throw_overflow();
  return result;
}

int64_t mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!checked_mul(a, b, &result)) throw_overflow();
  return result;
}

// Whether product `a` stands before product `b`: higher degree first, then the one with more of the older atom.
bool before(const std::vector<const ExprNode*>& a, const std::vector<const ExprNode*>& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return a[i]->id < b[i]->id;
  }
  return false;
}

Term multiply(const Term& a, const Term& b) {
  Term product{mul(a.coefficient, b.coefficient), {}};
  product.atoms.resize(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), product.atoms.begin(),
             [](const ExprNode* x, const ExprNode* y) { return x->id < y->id; });
  return product;
}

void add_term(Poly* sum, Term term) {
  if (term.coefficient == 0) return;
  if (term.atoms.empty()) {
    sum->constant = add(sum->constant, term.coefficient);
    return;
  }
  auto at = std::lower_bound(sum->terms.begin(), sum->terms.end(), term,
                             [](const Term& x, const Term& y) { return before(x.atoms, y.atoms); });
  if (at == sum->terms.end() || at->atoms != term.atoms) {
    if (sum->terms.size() >= kMaxTerms) {
      throw Error(StatusCode::kUnsupported, "a dimension's expression has too many terms");
    }
    sum->terms.insert(at, std::move(term));
  } else if ((at->coefficient = add(at->coefficient, term.coefficient)) == 0) {
    sum->terms.erase(at);
  }
}

// The highest term, the constant being the lowest; only of a polynomial that is not 0.
Term leading(const Poly& poly) { return poly.terms.empty() ? Term{poly.constant, {}} : poly.terms.front(); }

std::optional<Term> divide(const Term& a, const Term& b) {
  // By -1 apart: INT64_MIN % -1 traps.
  if (b.coefficient != -1 && a.coefficient % b.coefficient != 0) return std::nullopt;
  Term quotient{b.coefficient == -1 ? mul(a.coefficient, -1) : a.coefficient / b.coefficient, {}};
  size_t next = 0;
  for (const ExprNode* atom : a.atoms) {
    if (next < b.atoms.size() && b.atoms[next] == atom) {
      ++next;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  if (next != b.atoms.size()) return std::nullopt;
  return quotient;
}

}  // namespace

Poly poly_of(Dim dim) {
  if (dim.is_constant()) return Poly{{}, dim.constant()};
  if (dim.node()->is_atom()) return Poly{{Term{1, {dim.node()}}}, 0};
  return dim.node()->poly;
}

Poly monomial(const Term& term) {
  Poly poly;
  add_term(&poly, term);
  return poly;
}

void add_scaled(Poly* sum, const Poly& poly, int64_t factor) {
  for (const Term& term : poly.terms) add_term(sum, Term{mul(term.coefficient, factor), term.atoms});
  sum->constant = add(sum->constant, mul(poly.constant, factor));
}

Poly multiply(const Poly& a, const Poly& b) {
  Poly product;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) add_term(&product, multiply(x, y));
    add_term(&product, Term{mul(x.coefficient, b.constant), x.atoms});
  }
  for (const Term& y : b.terms) add_term(&product, Term{mul(a.constant, y.coefficient), y.atoms});
  product.constant = mul(a.constant, b.constant);
  return product;
}

std::optional<Poly> divide_exactly(Poly a, const Poly& b) {
  if (b.terms.empty() && b.constant == 0) return std::nullopt;
  const Term divisor = leading(b);
  Poly quotient;
  // Each round removes a's leading term, and none above it comes back.
  while (!a.terms.empty() || a.constant != 0) {
    const std::optional<Term> part = divide(leading(a), divisor);
    if (!part) return std::nullopt;
    add_scaled(&a, multiply(monomial(*part), b), -1);
    add_term(&quotient, *part);
  }
  return quotient;
}

}  // namespace planwright::ir
