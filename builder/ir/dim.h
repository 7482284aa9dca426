// Dimensions as expressions over symbols.
//
// A Dim is a small value: an integer, or a node of an ExprPool. Expressions are kept in one canonical form (a sum of
// products with integer coefficients over atoms: symbols, floor and ceil quotients, mod, min, max), so two Dims compare
// equal exactly when their canonical forms do: equality is a proof, inequality is not one.
#ifndef PLANWRIGHT_BUILDER_IR_DIM_H_
#define PLANWRIGHT_BUILDER_IR_DIM_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/error.h"

namespace planwright::ir {

class ExprPool;
struct ExprNode;

enum class SymbolOrigin : uint8_t { kInputDim = 0, kInputValue, kStepResult };

struct Interval {
  int64_t min = 0;
  int64_t max = 0;
};

class Dim {
 public:
  Dim() = default;
  template <std::integral T>
  Dim(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor): an integer is a dim
  // Made by expression functions and ExprPool only.
  static Dim of_node(const ExprNode* node) {
    Dim dim;
    dim.node_ = node;
    return dim;
  }

  bool is_constant() const { return node_ == nullptr; }
  // Only where is_constant().
  int64_t constant() const { return value_; }
  const ExprNode* node() const { return node_; }

  // Whether the two are proven equal.
  friend bool operator==(const Dim& a, const Dim& b) { return a.node_ == b.node_ && a.value_ == b.value_; }

 private:
  const ExprNode* node_ = nullptr;
  int64_t value_ = 0;
};

using Shape = std::vector<Dim>;

// A symbol's identity and what is known of it: [min, max] over all profiles.
struct Symbol {
  SymbolOrigin origin = SymbolOrigin::kInputDim;
  int32_t source = 0;   // graph input index; for kStepResult the value (of a ReadValues node)
  int32_t element = 0;  // axis, or element of the value
  int64_t min = 0;
  int64_t max = 0;
  std::string name;               // for dumps: "batch", "x.2"
  std::optional<Dim> bound = {};  // kStepResult: at most this, of earlier symbols; none: [min, max] is all
  int32_t graph = 0;  // kStepResult: the number of the graph whose value it is; bodies share their graph's symbols
};

// Constants of an expression that do not fit 64 bits.
class Overflow : public Error {
 public:
  Overflow() : Error(StatusCode::kInvalid, "a dimension overflows 64 bits") {}
};

// All throw Overflow, Error(kInvalid) for a constant zero divisor, or Error(kUnsupported) for an expression larger than
// any model's shapes need. Divisors must be positive.
Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim floor_div(Dim a, Dim b);
Dim ceil_div(Dim a, Dim b);
Dim mod(Dim a, Dim b);
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim product(const Shape& dims);

// The values each symbol may take; default: the pool's own [min, max]. Used per profile.
using SymbolRange = std::function<Interval(const Symbol&, int symbol_index)>;

// What values the expression may take, by interval arithmetic (sound, not always tight); saturates at int64's limits.
Interval range_of(Dim dim);
Interval range_of(Dim dim, const SymbolRange& symbols);

// Proofs over the whole box; false means "not proven".
bool proven_equal(Dim a, Dim b);
bool proven_different(Dim a, Dim b);
bool proven_at_most(Dim a, Dim b);
bool proven_divisible(Dim a, Dim by);
// Whether a = q * b for some expression q; b may have any sign.
bool is_multiple(Dim a, Dim b);

// The value under an assignment of every symbol. Throws Error(kInvalid) on overflow or a zero divisor.
int64_t evaluate(Dim dim, const std::function<int64_t(int symbol_index)>& value_of);

// "3", "batch", "2*x.2 + 1", "floor(x.2/2)".
std::string to_string(Dim dim);
std::string to_string(const Shape& shape);  // "[1, 3, h, w]"

// ---- Walking an expression, for emission into the plan.

enum class ExprOp : uint8_t { kConstant = 0, kSymbol, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax };

// Owns the nodes of a graph's expressions and its symbols.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  // A number for a graph that uses the pool: 0 for the first, then 1, ...
  int32_t number_graph() { return graphs_++; }

  // A new symbol's expression; index in symbols().
  Dim add_symbol(Symbol symbol);
  const std::vector<Symbol>& symbols() const;
  // The expression of symbol `index`.
  Dim symbol(int index);
  // Narrows or sets a symbol's range (the profiles' union). min == max does not make the expression a constant.
  void set_range(int index, int64_t min, int64_t max);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
  int32_t graphs_ = 0;
};

// One instruction of an expression as the plan stores it. Constant: value; Symbol: value is its index; else a, b index
// earlier instructions of the same list.
struct ExprInstr {
  ExprOp op = ExprOp::kConstant;
  int64_t value = 0;
  uint32_t a = 0, b = 0;
  friend bool operator==(const ExprInstr&, const ExprInstr&) = default;
};

// The symbols that the expressions use, once each, ascending.
std::vector<int> symbols_of(const Shape& dims);

// Appends the instructions that compute `dim` to `list`, sharing those already there; returns the index of its value.
uint32_t flatten(Dim dim, std::vector<ExprInstr>& list);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_DIM_H_
