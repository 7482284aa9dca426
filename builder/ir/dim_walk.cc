// Reading expressions: evaluation, text, and the instructions the plan stores.
#include <algorithm>
#include <unordered_map>

#include "builder/ir/expr_node.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

class Evaluator {
 public:
  explicit Evaluator(const std::function<int64_t(int)>& value_of) : value_of_(value_of) {}

  int64_t of(Dim dim) {
    if (dim.is_constant()) return dim.constant();
    const auto known = memo_.find(dim.node());
    if (known != memo_.end()) return known->second;
    const int64_t value = compute(*dim.node());
    memo_.emplace(dim.node(), value);
    return value;
  }

 private:
  int64_t compute(const ExprNode& node) {
    switch (node.op) {
      case ExprOp::kSymbol: return value_of_(node.symbol);
      case ExprOp::kFloorDiv: {
        const int64_t a = of(node.a), b = of(node.b);
        if (b <= 0)
          throw Error(StatusCode::kInvalid, to_string(Dim::of_node(&node)) + " divides by " + std::to_string(b));
        return floor_quotient(a, b);
      }
      case ExprOp::kMin: return std::min(of(node.a), of(node.b));
      case ExprOp::kMax: return std::max(of(node.a), of(node.b));
      default: break;
    }
    int64_t sum = node.poly.constant;
    for (const Term& term : node.poly.terms) {
      int64_t product = term.coefficient;
      for (const ExprNode* atom : term.atoms) check(checked_mul(product, of(Dim::of_node(atom)), &product), node);
      check(checked_add(sum, product, &sum), node);
    }
    return sum;
  }

  static void check(bool fits, const ExprNode& node) {
    if (!fits) throw Error(StatusCode::kInvalid, to_string(Dim::of_node(&node)) + " overflows 64 bits");
  }

  const std::function<int64_t(int)>& value_of_;
  std::unordered_map<const ExprNode*, int64_t> memo_;
};

std::string atom_text(const ExprNode& node);

std::string product_text(const Term& term, uint64_t magnitude) {
  std::string text = magnitude == 1 ? "" : std::to_string(magnitude);
  for (const ExprNode* atom : term.atoms) {
    if (!text.empty()) text += "*";
    text += atom_text(*atom);
  }
  return text;
}

uint64_t magnitude_of(int64_t value) {
  return value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// "h + 1", "2*n*w - h": positive terms first, so that a sum begins without a sign where it can.
std::string sum_text(const Poly& poly) {
  std::string text;
  for (const bool negative : {false, true}) {
    for (const Term& term : poly.terms) {
      if ((term.coefficient < 0) != negative) continue;
      text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      text += product_text(term, magnitude_of(term.coefficient));
    }
  }
  if (poly.constant != 0) {
    text += (poly.constant < 0 ? " - " : " + ") + std::to_string(magnitude_of(poly.constant));
  }
  return text;
}

std::string operand_text(Dim dim) {
  const std::string text = to_string(dim);
  return dim.is_constant() || dim.node()->is_atom() ? text : "(" + text + ")";
}

std::string atom_text(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::kSymbol: return node.pool->symbols[static_cast<size_t>(node.symbol)].name;
    case ExprOp::kMin: return "min(" + to_string(node.a) + ", " + to_string(node.b) + ")";
    case ExprOp::kMax: return "max(" + to_string(node.a) + ", " + to_string(node.b) + ")";
    default: return "floor(" + operand_text(node.a) + "/" + operand_text(node.b) + ")";
  }
}

class Flattener {
 public:
  explicit Flattener(std::vector<ExprInstr>& list) : list_(list) {}

  uint32_t of(Dim dim) {
    if (dim.is_constant()) return emit({ExprOp::kConstant, dim.constant()});
    const auto known = memo_.find(dim.node());
    if (known != memo_.end()) return known->second;
    const uint32_t index = compute(*dim.node());
    memo_.emplace(dim.node(), index);
    return index;
  }

 private:
  uint32_t emit(ExprInstr instr) {
    const auto at = std::find(list_.begin(), list_.end(), instr);
    const auto index = static_cast<uint32_t>(at - list_.begin());
    if (at == list_.end()) list_.push_back(instr);
    return index;
  }

  uint32_t compute(const ExprNode& node) {
    if (node.op == ExprOp::kSymbol) return emit({ExprOp::kSymbol, node.symbol});
    if (node.is_atom()) {
      const uint32_t a = of(node.a), b = of(node.b);
      return emit({node.op, 0, a, b});
    }
    return sum(node.poly);
  }

  uint32_t sum(const Poly& poly) {
    std::optional<uint32_t> total;
    for (const bool negative : {false, true}) {
      for (const Term& term : poly.terms) {
        if ((term.coefficient < 0) != negative) continue;
        // INT64_MIN has no positive: it is added, as it is.
        const bool subtract = negative && total && term.coefficient != INT64_MIN;
        const uint32_t value = product(term, subtract ? -term.coefficient : term.coefficient);
        total = total ? emit({subtract ? ExprOp::kSub : ExprOp::kAdd, 0, *total, value}) : value;
      }
    }
    if (poly.constant == 0) return *total;
    const bool subtract = poly.constant < 0 && poly.constant != INT64_MIN;
    const uint32_t constant = of(subtract ? -poly.constant : poly.constant);
    return emit({subtract ? ExprOp::kSub : ExprOp::kAdd, 0, *total, constant});
  }

  uint32_t product(const Term& term, int64_t coefficient) {
    uint32_t value = of(Dim::of_node(term.atoms[0]));
    for (size_t i = 1; i < term.atoms.size(); ++i) {
      const uint32_t next = of(Dim::of_node(term.atoms[i]));
      value = emit({ExprOp::kMul, 0, value, next});
    }
    if (coefficient == 1) return value;
    const uint32_t factor = of(coefficient);
    return emit({ExprOp::kMul, 0, value, factor});
  }

  std::vector<ExprInstr>& list_;
  std::unordered_map<const ExprNode*, uint32_t> memo_;
};

}  // namespace

int64_t evaluate(Dim dim, const std::function<int64_t(int symbol_index)>& value_of) {
  return Evaluator(value_of).of(dim);
}

std::string to_string(Dim dim) {
  if (dim.is_constant()) return std::to_string(dim.constant());
  const ExprNode& node = *dim.node();
  return node.is_atom() ? atom_text(node) : sum_text(node.poly);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (Dim dim : shape) text += (text.size() > 1 ? ", " : "") + to_string(dim);
  return text + "]";
}

std::vector<int> symbols_of(const Shape& dims) {
  std::vector<ExprInstr> list;
  for (const Dim dim : dims) flatten(dim, list);
  std::vector<int> symbols;
  for (const ExprInstr& instr : list) {
    if (instr.op == ExprOp::kSymbol) symbols.push_back(static_cast<int>(instr.value));
  }
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

uint32_t flatten(Dim dim, std::vector<ExprInstr>& list) { return Flattener(list).of(dim); }

}  // namespace planwright::ir
