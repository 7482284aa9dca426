// Support vector machines of the domain ai.onnx.ml.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/ml.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// The kernel's value for every row of x and every support vector, [N, vectors].
ValueId kernel_matrix(NodeContext& node, ValueId x, const std::vector<float>& vectors, int64_t count) {
  const std::string type = node.get_string("kernel_type", "LINEAR");
  std::vector<float> numbers = node.get_floats("kernel_params");
  numbers.resize(3);
  const double gamma = static_cast<double>(numbers[0]), shift = static_cast<double>(numbers[1]),
               degree = static_cast<double>(numbers[2]);
  const ValueId product = linear(node, x, vectors, count, {});
  if (type == "LINEAR") return product;
  if (type == "RBF") {  // exp(-gamma |x - v|^2)
    const auto features = static_cast<size_t>(constant_columns(node, x));
    std::vector<float> lengths;
    for (size_t i = 0; i < vectors.size(); i += features) {
      double sum = 0;
      for (size_t j = i; j < i + features; ++j)
        sum += static_cast<double>(vectors[j]) * static_cast<double>(vectors[j]);
      lengths.push_back(static_cast<float>(sum));
    }
    const ValueId own = node.reduce(ReduceKind::kSumSquare, x, 2);
    P program;
    const Reg xv = program.load(DType::kF32), xx = program.load(DType::kF32), vv = program.load(DType::kF32);
    const Reg both = program.apply(PwOp::kAdd, xx, vv);
    const Reg square = program.apply(PwOp::kSub, both, program.apply(PwOp::kAdd, xv, xv));
    const Reg distance = program.apply(PwOp::kMax, square, program.constant(xv.type, 0));
    program.store(program.apply(PwOp::kExp, program.apply(PwOp::kMul, distance, program.constant(xv.type, -gamma))),
                  DType::kF32);
    return node.pointwise(program, {product, own, floats(node, lengths, {count})}, DType::kF32);
  }
  node.require(type == "POLY" || type == "SIGMOID", fmt::format("kernel_type '{}' is unknown", type));
  return map(node, product, DType::kF32, [&](P& p, Reg xv) {
    const Reg line =
        p.apply(PwOp::kAdd, p.apply(PwOp::kMul, xv, p.constant(xv.type, gamma)), p.constant(xv.type, shift));
    return type == "POLY" ? p.apply(PwOp::kPow, line, p.constant(xv.type, degree)) : p.apply(PwOp::kTanh, line);
  });
}

void svm_regressor(NodeContext& node) {
  const ValueId x = rows_of(node, 0, DType::kF32);
  const std::vector<float> coefficients = node.get_floats("coefficients"), rho = node.get_floats("rho");
  const int64_t count = node.get_int("n_supports", 0);
  node.require(rho.size() == 1, fmt::format("{} values of rho, not 1", rho.size()));
  // Without support vectors the coefficients are a plane.
  const ValueId sum =
      count > 0 ? linear(node, kernel_matrix(node, x, node.get_floats("support_vectors"), count), coefficients, 1, rho)
                : linear(node, x, coefficients, 1, rho);
  ValueId y = sum;
  if (node.get_int("one_class", 0) != 0) {
    y = map(node, sum, DType::kF32, [](P& p, Reg s) {
      const Reg inside = p.apply(PwOp::kLess, p.constant(s.type, 0), s);
      return p.apply(PwOp::kSelect, inside, p.constant(s.type, 1), p.constant(s.type, -1));
    });
  }
  node.set(0, transformed(node, y, post_transform_of(node)));
}

// One column a pair of classes i < j: what a support vector adds to the score that decides for i where it is positive.
std::vector<float> pair_coefficients(const std::vector<int64_t>& per_class, const std::vector<float>& coefficients,
                                     int64_t vectors) {
  const auto classes = static_cast<int64_t>(per_class.size());
  std::vector<int64_t> start(per_class.size(), 0);
  std::partial_sum(per_class.begin(), per_class.end() - 1, start.begin() + 1);
  std::vector<float> table;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) {
      std::vector<float> row(static_cast<size_t>(vectors), 0.0f);
      const auto copy = [&](int64_t from_class, int64_t from_row) {
        for (int64_t k = 0; k < per_class[static_cast<size_t>(from_class)]; ++k) {
          const auto at = static_cast<size_t>(start[static_cast<size_t>(from_class)] + k);
          row[at] = coefficients[static_cast<size_t>(from_row * vectors) + at];
        }
      };
      copy(i, j - 1);
      copy(j, i);
      table.insert(table.end(), row.begin(), row.end());
    }
  }
  return table;
}

// How often each class wins its pairs, [N, classes]: pair (i, j) votes for i where its score is positive, else for j.
ValueId count_votes(NodeContext& node, ValueId scores, int64_t classes) {
  std::vector<float> signs, base(static_cast<size_t>(classes), 0.0f);
  const int64_t pairs = classes * (classes - 1) / 2;
  signs.assign(static_cast<size_t>(classes * pairs), 0.0f);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      signs[static_cast<size_t>(i * pairs + pair)] = 1;
      signs[static_cast<size_t>(j * pairs + pair)] = -1;
      base[static_cast<size_t>(j)] += 1;
    }
  }
  const ValueId wins =
      map(node, scores, DType::kF32, [](P& p, Reg s) { return p.apply(PwOp::kLess, p.constant(s.type, 0), s); });
  return linear(node, wins, signs, classes, base);
}

// For each pair (i, j), how likely class i is of the two: 1 / (1 + exp(a s + b)), fp64 [N, pairs].
ValueId pair_probabilities(NodeContext& node, ValueId scores, const std::vector<float>& a,
                           const std::vector<float>& b) {
  const auto pairs = static_cast<int64_t>(a.size());
  P program;
  const Reg s = program.load_as(DType::kF32, PwClass::kDouble);
  const Reg slope = program.load_as(DType::kF32, PwClass::kDouble);
  const Reg shift = program.load_as(DType::kF32, PwClass::kDouble);
  const Reg line = program.apply(PwOp::kAdd, program.apply(PwOp::kMul, s, slope), shift);
  const Reg value = program.apply(PwOp::kSigmoid, program.apply(PwOp::kNeg, line));
  const Reg bounded = program.apply(PwOp::kMax, value, program.constant(s.type, 1e-7));
  program.store(program.apply(PwOp::kMin, bounded, program.constant(s.type, 1 - 1e-7)), DType::kF64);
  return node.pointwise(program, {scores, floats(node, a, {pairs}), floats(node, b, {pairs})}, DType::kF64);
}

void svm_classifier(NodeContext& node) {
  const std::vector<int64_t> labels = class_labels(node, "classlabels_ints");
  const auto classes = static_cast<int64_t>(labels.size());
  const ValueId x = rows_of(node, 0, DType::kF32);
  const std::vector<int64_t> per_class = node.get_ints("vectors_per_class");
  const std::vector<float> coefficients = node.get_floats("coefficients"), rho = node.get_floats("rho");
  const std::vector<float> prob_a = node.get_floats("prob_a"), prob_b = node.get_floats("prob_b");
  if (per_class.empty()) node.unsupported("a linear one without support vectors; export it as a LinearClassifier");
  node.require(classes >= 2 && static_cast<int64_t>(per_class.size()) == classes,
               fmt::format("{} labels for {} classes", classes, per_class.size()));
  int64_t vectors = 0;
  for (const int64_t count : per_class) {
    node.require(count >= 0 && count < (1 << 24), fmt::format("a class of {} support vectors", count));
    vectors += count;
  }
  node.require(
      vectors >= 1 && vectors < (1 << 24) && static_cast<int64_t>(coefficients.size()) == (classes - 1) * vectors,
      fmt::format("{} coefficients for {} support vectors of {} classes", coefficients.size(), vectors, classes));
  const int64_t pairs = classes * (classes - 1) / 2;
  node.require(static_cast<int64_t>(rho.size()) == pairs,
               fmt::format("{} values of rho for {} pairs of classes", rho.size(), pairs));
  const ValueId kernel = kernel_matrix(node, x, node.get_floats("support_vectors"), vectors);
  const ValueId scores = linear(node, kernel, pair_coefficients(per_class, coefficients, vectors), pairs, rho);
  const PostTransform post = post_transform_of(node);
  // Also where there are probabilities: the likeliest class may be another.
  set_labels(node, arg_max(node, count_votes(node, scores, classes)), labels);
  if (prob_a.empty()) {
    const ValueId shown =
        classes == 2 ? with_second_score(node, scores, SecondScore::kOpposite, PostTransform::kNone) : scores;
    node.set(1, transformed(node, shown, post));
    return;
  }
  node.require(prob_a.size() == rho.size() && prob_b.size() == rho.size(),
               "it has not one 'prob_a' and 'prob_b' for each pair of classes");
  if (classes > kMaxCoupledClasses) {
    node.unsupported(fmt::format("probabilities of {} classes; the most is {}", classes, kMaxCoupledClasses));
  }
  const ValueId of_pairs = pair_probabilities(node, scores, prob_a, prob_b);
  const ValueId of_classes = node.emit_one({OpKind::kPairCoupling, NoParams{}, {of_pairs}});
  node.set(1, transformed(node, node.cast(of_classes, DType::kF32), post));
}

constexpr ImporterRow kRows[] = {
    {"SVMClassifier", svm_classifier, kMlDomain},
    {"SVMRegressor", svm_regressor, kMlDomain},
};

}  // namespace

ImporterTable ml_vector_importers() { return kRows; }

}  // namespace planwright::builder::importer
