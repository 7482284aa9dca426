// Linear models of the domain ai.onnx.ml: products with constant matrices.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/ml.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

void linear_regressor(NodeContext& node) {
  const ValueId scores = linear(node, rows_of(node, 0, DType::kF32), node.get_floats("coefficients"),
                                node.get_int("targets", 1), node.get_floats("intercepts"));
  node.set(0, transformed(node, scores, post_transform_of(node)));
}

void linear_classifier(NodeContext& node) {
  std::vector<int64_t> labels = class_labels(node, "classlabels_ints");
  const std::vector<float> coefficients = node.get_floats("coefficients");
  const ValueId x = rows_of(node, 0, DType::kF32);
  const int64_t features = constant_columns(node, x);
  node.require(features >= 1 && !coefficients.empty(), "it has no coefficients");
  const int64_t classes = static_cast<int64_t>(coefficients.size()) / features;
  const ValueId scores = linear(node, x, coefficients, classes, node.get_floats("intercepts"));
  const PostTransform post = post_transform_of(node);
  if (classes == 1) {
    if (labels.size() < 2) labels = {0, 1};
    set_labels(node, is_above(node, scores, 0), labels);
    node.set(1,
             with_second_score(node, transformed(node, scores, post), SecondScore::kComplement, PostTransform::kNone));
    return;
  }
  if (labels.empty()) {
    labels.resize(static_cast<size_t>(classes));
    std::iota(labels.begin(), labels.end(), 0);
  }
  node.require(static_cast<int64_t>(labels.size()) >= classes,
               fmt::format("{} labels for {} classes", labels.size(), classes));
  set_labels(node, arg_max(node, scores), labels);
  node.set(1, transformed(node, scores, post));
}

constexpr ImporterRow kRows[] = {
    {"LinearClassifier", linear_classifier, kMlDomain},
    {"LinearRegressor", linear_regressor, kMlDomain},
};

}  // namespace

ImporterTable ml_linear_importers() { return kRows; }

}  // namespace planwright::builder::importer
