#include "tactics/kernels/fast/epilogue_match.h"

#include <utility>

namespace planwright::fast {
namespace {

constexpr double kInfinity = __builtin_inf();

// A value of the program. Equal computations are one node, so that x in x * sigmoid(x) is seen to be the same.
struct Node {
  PwOp op;
  int a, b, c;  // nodes
  int operand;
  double constant;

  bool is_constant() const { return op == PwOp::kConst; }
  friend bool operator==(const Node&, const Node&) = default;
};

// clamp(alpha * node + beta, low, high), alpha > 0 unless negated
struct ClampedLine {
  int node;
  double alpha = 1.0, beta = 0.0, low = -kInfinity, high = kInfinity;

  void scale(double by) { alpha *= by, beta *= by, low *= by, high *= by; }
  void negate() {
    scale(-1.0);
    std::swap(low, high);
  }
  void shift(double by) { beta += by, low += by, high += by; }
  // min and max with a constant; right whichever way around an exporter wrote the two of a clip.
  void at_least(double least) { low = low > least ? low : least, high = high > least ? high : least; }
  void at_most(double most) { low = low < most ? low : most, high = high < most ? high : most; }
  bool is_clamped() const { return low != -kInfinity || high != kInfinity; }
};

// Beyond, folding constants into one another may overflow, or make a number of what a sum loses with denormals.
constexpr double kLargestConstant = 1e15;
constexpr double kLargestFloat = 0x1.fffffep127;
bool is_moderate(double value) { return value >= -kLargestConstant && value <= kLargestConstant; }
// A bound that none passes may be as far away as fp32 goes, which exporters write for "no bound".
bool are_bounds(double low, double high) {
  const auto fits = [](double value) {
    return value - value != 0 || (value >= -kLargestFloat && value <= kLargestFloat);
  };
  return fits(low) && fits(high) && low <= kLargestConstant && high >= -kLargestConstant;
}

bool is_positive(double value) { return value > 0 && value < kInfinity; }
bool is_finite(double value) { return value - value == 0; }

class Matcher {
 public:
  // Builds the nodes. False where the program does not store exactly one output.
  bool build(const PwInstr* instructions, int count) {
    int value[kMaxPwRegisters] = {};
    for (int i = 0; i < count; ++i) {
      const PwInstr& instr = instructions[i];
      switch (instr.op) {
        case PwOp::kStore:
          if (root_ >= 0) return false;
          root_ = value[instr.a];
          continue;
        case PwOp::kConvert: value[instr.dst] = value[instr.a]; continue;
        case PwOp::kNarrow:
          if (static_cast<DType>(instr.operand) != DType::kF32) return false;
          value[instr.dst] = value[instr.a];
          continue;
        default: break;
      }
      const int reads = reads_of(instr.op);
      Node node = {instr.op, 0, 0, 0, 0, 0.0};
      if (reads >= 1) node.a = value[instr.a];
      if (reads >= 2) node.b = value[instr.b];
      if (reads >= 3) node.c = value[instr.c];
      if (instr.op == PwOp::kLoad) node.operand = instr.operand;
      if (instr.op == PwOp::kConst) node.constant = static_cast<double>(static_cast<float>(instr.imm_f));
      value[instr.dst] = intern(node);
    }
    return root_ >= 0;
  }

  bool match(StraightEpilogue* epilogue) const {
    const ClampedLine line = clamped_line(root_);
    if (is_sum(line.node, epilogue)) {
      const bool moves = line.alpha != 1.0 || line.beta != 0.0;
      return set(moves               ? TileFunction::kLine
                 : line.is_clamped() ? TileFunction::kClamp
                                     : TileFunction::kIdentity,
                 line, epilogue);
    }

    // A line of a product of at most two factors that are no constants.
    Product product;
    if (line.is_clamped() || !flatten(line.node, &product) || product.count == 0) return false;
    product.scale *= line.alpha;
    if (product.scale == 0.0 || !is_finite(product.scale)) return false;
    const int first = product.factors[0], second = product.factors[1];
    if (product.count == 2) {
      return match_product(first, second, product.scale, line.beta, epilogue) ||
             match_product(second, first, product.scale, line.beta, epilogue);
    }
    const Node& only = nodes_[first];
    if (product.scale != 1.0 || line.beta != 0.0 || only.op != PwOp::kSigmoid) return false;
    const ClampedLine inner = clamped_line(only.a);
    return !inner.is_clamped() && is_sum(inner.node, epilogue) && set(TileFunction::kSigmoid, inner, epilogue);
  }

 private:
  int intern(const Node& node) {
    for (int i = 0; i < count_; ++i) {
      if (nodes_[i] == node) return i;
    }
    nodes_[count_] = node;
    return count_++;
  }

  static bool set(TileFunction function, const ClampedLine& line, StraightEpilogue* epilogue) {
    if (!is_moderate(line.alpha) || !is_moderate(line.beta)) return false;
    if (function != TileFunction::kClamp && !are_bounds(line.low, line.high)) return false;
    TileActivation& activation = epilogue->activation;
    activation.function = function;
    activation.alpha = static_cast<float>(line.alpha);
    activation.beta = static_cast<float>(line.beta);
    activation.low = static_cast<float>(line.low);
    activation.high = static_cast<float>(line.high);
    return true;
  }

  // x * gate(x) * scale + shift
  bool match_product(int x, int gate, double scale, double shift, StraightEpilogue* epilogue) const {
    if (!is_sum(x, epilogue)) return false;
    ClampedLine line = clamped_line(gate);
    if (line.node == x) {
      if (!is_moderate(shift)) return false;
      line.scale(scale < 0 ? -scale : scale);
      if (scale < 0) line.negate();
      epilogue->activation.gamma = static_cast<float>(shift);
      return set(TileFunction::kHardSwish, line, epilogue);
    }
    if (shift != 0.0 || scale < 0) return false;
    const Node& function = nodes_[line.node];
    if (line.is_clamped() || (function.op != PwOp::kSigmoid && function.op != PwOp::kErf)) return false;
    ClampedLine inner = clamped_line(function.a);
    if (inner.node != x || inner.is_clamped() || inner.beta != 0.0) return false;
    if (function.op == PwOp::kSigmoid) {
      return line.alpha == 1.0 && line.beta == 0.0 && scale == 1.0 && set(TileFunction::kSilu, inner, epilogue);
    }
    if (line.alpha != line.beta) return false;
    inner.beta = scale * line.alpha;
    return set(TileFunction::kGelu, inner, epilogue);
  }

  // The line that `node` is of the deepest node it can be traced to.
  ClampedLine clamped_line(int node) const {
    const Node& n = nodes_[node];
    const bool a_constant = n.op >= PwOp::kAdd && nodes_[n.a].is_constant();
    const int value = a_constant ? n.b : n.a;
    const double constant = nodes_[a_constant ? n.a : n.b].constant;
    const bool has_constant = n.op >= PwOp::kAdd && (a_constant || nodes_[n.b].is_constant()) && is_finite(constant);
    if (!has_constant) return {node};
    switch (n.op) {
      case PwOp::kAdd: return shifted(value, constant);
      case PwOp::kSub:
        if (a_constant) return {node};
        return shifted(value, -constant);
      case PwOp::kMul:
        if (!is_positive(constant)) return {node};
        return scaled(value, constant);
      case PwOp::kDiv:
        if (a_constant || !is_positive(constant)) return {node};
        return scaled(value, 1.0 / constant);
      case PwOp::kMin: {
        ClampedLine line = clamped_line(value);
        line.at_most(constant);
        return line;
      }
      case PwOp::kMax: {
        ClampedLine line = clamped_line(value);
        line.at_least(constant);
        return line;
      }
      case PwOp::kMulAdd: {
        const double addend = nodes_[n.c].constant;
        if (!nodes_[n.c].is_constant() || !is_finite(addend) || !is_positive(constant)) return {node};
        ClampedLine line = scaled(value, constant);
        line.shift(addend);
        return line;
      }
      default: return {node};
    }
  }
  ClampedLine shifted(int node, double by) const {
    ClampedLine line = clamped_line(node);
    line.shift(by);
    return line;
  }
  ClampedLine scaled(int node, double by) const {
    ClampedLine line = clamped_line(node);
    line.scale(by);
    return line;
  }

  // Whether a node is the accumulator plus at most two operands.
  bool is_sum(int node, StraightEpilogue* epilogue) const {
    int added[2] = {-1, -1};
    int count = 0;
    while (nodes_[node].op != PwOp::kAcc) {
      const Node& sum = nodes_[node];
      if (sum.op != PwOp::kAdd || count == 2) return false;
      const bool first = nodes_[sum.a].op == PwOp::kLoad;
      if (!first && nodes_[sum.b].op != PwOp::kLoad) return false;
      added[count++] = nodes_[first ? sum.a : sum.b].operand;
      node = first ? sum.b : sum.a;
    }
    epilogue->added[0] = count == 2 ? added[1] : added[0];
    epilogue->added[1] = count == 2 ? added[0] : -1;
    return true;
  }

  struct Product {
    int factors[2];
    int count = 0;
    double scale = 1.0;
    // What is left of the nodes that may be looked at: squares of squares are products of 2^n factors.
    int budget = kMaxPwInstructions;
  };
  bool flatten(int node, Product* product) const {
    if (--product->budget < 0) return false;
    const Node& n = nodes_[node];
    if (n.is_constant()) {
      product->scale *= n.constant;
      return true;
    }
    if (n.op == PwOp::kMul) return flatten(n.a, product) && flatten(n.b, product);
    if (n.op == PwOp::kDiv && nodes_[n.b].is_constant()) {
      product->scale /= nodes_[n.b].constant;
      return flatten(n.a, product);
    }
    if (product->count == 2) return false;
    product->factors[product->count++] = node;
    return true;
  }

  Node nodes_[kMaxPwInstructions];
  int count_ = 0;
  int root_ = -1;
};

}  // namespace

bool match_straight(const PwInstr* instructions, int count, StraightEpilogue* epilogue) {
  *epilogue = {};
  if (count == 0) return true;
  Matcher matcher;
  return matcher.build(instructions, count) && matcher.match(epilogue);
}

}  // namespace planwright::fast
