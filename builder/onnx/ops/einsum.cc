// Einsum, lowered to transposes, reductions and matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using Labels = std::string;  // one character an axis; an ellipsis's axes are the characters 1, 2, ...

// A value whose axes have labels, each once.
struct Term {
  ValueId value;
  Labels labels;
};

bool contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

class Einsum {
 public:
  explicit Einsum(NodeContext& node) : node_(node) {}

  ValueId run() {
    parse();
    std::vector<Term> terms;
    for (int i = 0; i < node_.input_count(); ++i) {
      terms.push_back(without_diagonals({node_.in(i), inputs_[static_cast<size_t>(i)]}));
    }
    while (terms.size() > 1) {
      const Term b = terms.back();
      terms.pop_back();
      const Term a = terms.back();
      terms.pop_back();
      Labels kept = output_;
      for (const Term& other : terms) kept += other.labels;
      terms.push_back(product(a, b, kept));
    }
    const Term total = sum_out(terms[0], output_);
    return arrange(total, output_).value;
  }

 private:
  void parse() {
    std::string equation = node_.get_string("equation");
    std::erase(equation, ' ');
    const size_t arrow = equation.find("->");
    const std::string left = equation.substr(0, arrow);
    for (size_t begin = 0; begin <= left.size();) {
      const size_t end = std::min(left.find(',', begin), left.size());
      const auto input = static_cast<int>(inputs_.size());
      node_.require(input < node_.input_count(), "its equation has more terms than it has inputs");
      inputs_.push_back(labels_of(left.substr(begin, end - begin), node_.in_rank(input)));
      begin = end + 1;
    }
    node_.require(static_cast<int>(inputs_.size()) == node_.input_count(), "its equation has fewer terms than inputs");
    for (const Labels& labels : inputs_) {
      for (const char label : labels) {
        if (!std::isalpha(static_cast<unsigned char>(label)) && !contains(ellipsis_, label)) ellipsis_ += label;
      }
    }
    // Aligned at the last axis: the longest ellipsis has the most labels, and the largest of them is outermost.
    std::sort(ellipsis_.rbegin(), ellipsis_.rend());
    output_ = arrow == std::string::npos ? implicit_output() : explicit_output(equation.substr(arrow + 2));
  }

  Labels labels_of(const std::string& term, int rank) const {
    const size_t dots = term.find("...");
    const int letters = static_cast<int>(term.size()) - (dots == std::string::npos ? 0 : 3);
    node_.require(letters <= rank && (dots != std::string::npos || letters == rank),
                  fmt::format("term '{}' of its equation does not fit an input of {} axes", term, rank));
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
      if (i == dots) {
        for (int axis = rank - letters; axis > 0; --axis) labels += static_cast<char>(axis);
        i += 2;
        continue;
      }
      node_.require(std::isalpha(static_cast<unsigned char>(term[i])) != 0,
                    fmt::format("'{}' in its equation is no letter", term[i]));
      labels += term[i];
    }
    return labels;
  }

  // Labels that stand once, in the alphabet's order, after the ellipsis.
  Labels implicit_output() const {
    std::map<char, int> times;
    for (const Labels& labels : inputs_) {
      for (const char label : labels) ++times[label];
    }
    Labels result = ellipsis_;
    for (const auto& [label, count] : times) {
      if (count == 1 && !contains(ellipsis_, label)) result += label;
    }
    return result;
  }

  Labels explicit_output(const std::string& term) const {
    Labels result;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        node_.require(term.find("...", i + 3) == std::string::npos, "its result has '...' twice");
        result += ellipsis_;
        i += 2;
      } else {
        const bool known = std::any_of(inputs_.begin(), inputs_.end(),
                                       [&](const Labels& labels) { return contains(labels, term[i]); });
        node_.require(known && !contains(result, term[i]), fmt::format("'{}' in its result is wrong", term[i]));
        result += term[i];
      }
    }
    return result;
  }

  Dim dim(const Term& term, char label) const { return node_.dims(term.value)[term.labels.find(label)]; }

  Term permuted(const Term& term, const std::vector<int>& perm) {
    Labels labels;
    for (const int axis : perm) labels += term.labels[static_cast<size_t>(axis)];
    return {node_.transpose(term.value, perm), labels};
  }

  // Where a label stands twice, the diagonal: of [n, n] flattened, every (n + 1)th element.
  Term without_diagonals(Term term) {
    for (size_t first = 0; first < term.labels.size(); ++first) {
      const size_t second = term.labels.find(term.labels[first], first + 1);
      if (second == Labels::npos) continue;
      std::vector<int> perm;
      for (size_t i = 0; i < term.labels.size(); ++i) {
        if (i != first && i != second) perm.push_back(static_cast<int>(i));
      }
      perm.push_back(static_cast<int>(first));
      perm.push_back(static_cast<int>(second));
      term = permuted(term, perm);
      Shape dims = node_.dims(term.value);
      const Dim length = dims.back();
      node_.guard_equal(dims[dims.size() - 2], length, "the two axes of a diagonal");
      dims.pop_back();
      dims.back() = length * length;
      Operation operation{OpKind::kSlice, SliceParams{}, {node_.reshape(term.value, dims)}};
      operation.scalars.assign(2 * dims.size(), Dim(0));
      std::fill(operation.scalars.begin() + static_cast<std::ptrdiff_t>(dims.size()), operation.scalars.end(), Dim(1));
      operation.scalars.back() = length + 1;
      dims.back() = length;
      operation.results[0].dims = dims;
      term.value = node_.emit_one(std::move(operation));
      term.labels.pop_back();
      return without_diagonals(term);
    }
    return term;
  }

  // Sums over the labels that are not in `kept`.
  Term sum_out(const Term& term, const Labels& kept) {
    uint32_t axes = 0;
    Labels rest;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (contains(kept, term.labels[i])) {
        rest += term.labels[i];
      } else {
        axes |= 1u << i;
      }
    }
    if (axes == 0) return term;
    return {node_.squeeze(node_.reduce(ReduceKind::kSum, term.value, axes), axes), rest};
  }

  // The axes in the order of `labels`, those that the term has not as 1.
  Term arrange(const Term& term, const Labels& labels) {
    std::vector<int> perm;
    Shape dims;
    for (const char label : labels) {
      const size_t axis = term.labels.find(label);
      if (axis != Labels::npos) perm.push_back(static_cast<int>(axis));
      dims.push_back(axis == Labels::npos ? Dim(1) : node_.dims(term.value)[axis]);
    }
    return {node_.reshape(node_.transpose(term.value, perm), dims), labels};
  }

  // [batch..., rows, columns] with the two groups of labels each joined into one axis.
  ValueId matrix(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns) {
    const Term ordered = arrange(term, batch + rows + columns);
    Shape dims;
    for (const char label : batch) dims.push_back(dim(ordered, label));
    Dim joined = 1;
    for (const char label : rows) joined = joined * dim(ordered, label);
    dims.push_back(joined);
    joined = 1;
    for (const char label : columns) joined = joined * dim(ordered, label);
    dims.push_back(joined);
    return node_.reshape(ordered.value, dims);
  }

  // a * b summed over the labels that nothing needs any more.
  Term product(const Term& left, const Term& right, const Labels& kept) {
    const Term a = sum_out(left, kept + right.labels), b = sum_out(right, kept + left.labels);
    Labels batch, summed, a_only, b_only;
    for (const char label : a.labels) {
      (!contains(b.labels, label) ? a_only : contains(kept, label) ? batch : summed) += label;
    }
    for (const char label : b.labels) {
      if (!contains(a.labels, label)) b_only += label;
    }
    for (const char label : summed) node_.guard_equal(dim(a, label), dim(b, label), "axes summed over together");
    const Labels labels = batch + a_only + b_only;
    if (summed.empty()) return {node_.binary(PwOp::kMul, arrange(a, labels).value, arrange(b, labels).value), labels};
    const ValueId sums = node_.matmul(matrix(a, batch, a_only, summed), matrix(b, batch, summed, b_only));
    Shape dims(node_.dims(sums).begin(), node_.dims(sums).end() - 2);
    for (const char label : a_only) dims.push_back(dim(a, label));
    for (const char label : b_only) dims.push_back(dim(b, label));
    return {node_.reshape(sums, dims), labels};
  }

  NodeContext& node_;
  std::vector<Labels> inputs_;
  Labels ellipsis_, output_;
};

void einsum(NodeContext& node) { node.set(0, Einsum(node).run()); }

constexpr ImporterRow kRows[] = {{"Einsum", einsum}};

}  // namespace

ImporterTable einsum_importers() { return kRows; }

}  // namespace planwright::builder::importer
