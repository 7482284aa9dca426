// The canonical form behind Dim; seen by builder/ir/dim*.cc only.
#ifndef PLANWRIGHT_BUILDER_IR_EXPR_NODE_H_
#define PLANWRIGHT_BUILDER_IR_EXPR_NODE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "builder/ir/dim.h"

namespace planwright::ir {

// A product with an integer coefficient. `atoms` is sorted by id, may repeat an atom, and is never empty.
struct Term {
  int64_t coefficient = 0;
  std::vector<const ExprNode*> atoms;
};

// terms + constant. Terms are distinct products with coefficients other than 0, in graded lexicographic order, highest
// first: that order is kept by multiplication, which exact division relies on.
struct Poly {
  std::vector<Term> terms;
  int64_t constant = 0;
};

// Far more than the shapes of a model need. Expressions share their parts: what is small as it is kept may nest so deep
// that walking it takes the stack, or double with every step once it is written out.
inline constexpr int32_t kMaxNesting = 256;
inline constexpr int64_t kMaxWrittenOut = 1 << 14;

// What a Dim that is no constant points to. An *atom* is a symbol or an operation that a Poly cannot express; a node
// that is no atom (op kAdd) holds a Poly that is not just one atom. There are no kCeilDiv and kMod nodes:
// ceil(a/b) is floor((a+b-1)/b) and mod(a,b) is a - b*floor(a/b), so that proofs know one kind of quotient.
struct ExprNode {
  ExprPool::Impl* pool = nullptr;
  int32_t id = 0;  // order of creation
  ExprOp op = ExprOp::kSymbol;
  int32_t symbol = -1;      // kSymbol
  Dim a, b;                 // kFloorDiv, kMin, kMax
  Poly poly;                // kAdd
  int32_t nesting = 0;      // of atoms in atoms
  int64_t written_out = 1;  // atoms and constants, those of shared parts each time
  // range_of()'s answer, good while `range_version` is the pool's.
  mutable Interval range;
  mutable uint64_t range_version = 0;

  bool is_atom() const { return op != ExprOp::kAdd; }
};

struct ExprPool::Impl {
  std::vector<Symbol> symbols;
  std::vector<const ExprNode*> symbol_nodes;
  std::map<std::vector<int64_t>, std::unique_ptr<ExprNode>> nodes;
  uint64_t version = 1;  // of the symbols' ranges

  const ExprNode* intern(ExprNode node);
  Dim atom(ExprOp op, Dim a, Dim b);
  Dim of(Poly poly);
};

// ---- Polynomials. All throw Error(kInvalid) on overflow.

Poly poly_of(Dim dim);
Poly monomial(const Term& term);
// *sum += factor * poly.
void add_scaled(Poly* sum, const Poly& poly, int64_t factor);
Poly multiply(const Poly& a, const Poly& b);
// a / b where b divides a without a remainder.
std::optional<Poly> divide_exactly(Poly a, const Poly& b);

// Bounds of a polynomial, the pool's own symbol ranges.
Interval range_of(const Poly& poly);

// Rounds towards minus infinity; b > 0.
constexpr int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
// What that leaves, in [0, b); not by a product, which INT64_MIN's quotient overflows.
constexpr int64_t floor_remainder(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_EXPR_NODE_H_
