// Forests of decision trees: TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/ops/forest.h"
#include "builder/onnx/ops/ml.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// ---- Attributes

// Numbers that an attribute gives as a list of floats or, with "_as_tensor", as a tensor of the model's own type.
std::vector<double> read_numbers(const NodeContext& node, const std::string& name, DType* dtype) {
  for (const std::string& own : {name + "_as_tensor", name}) {
    const onnx::AttributeProto* found = node.attribute(own);
    if (found == nullptr || !found->has_t()) continue;
    const ir::Tensor tensor = read_tensor(found->t(), node.title());
    node.require(is_float(tensor.dtype), fmt::format("'{}' is not of floats", own));
    *dtype = tensor.dtype;
    ir::Value value;
    value.dtype = tensor.dtype;
    for (const int64_t dim : tensor.dims) value.dims.push_back(dim);
    value.constant = std::make_shared<const ir::Bytes>(tensor.data);
    return read_doubles(value);
  }
  const std::vector<float> floats = node.get_floats(name);
  return {floats.begin(), floats.end()};
}

void require_count(const NodeContext& node, size_t count, size_t wanted, const char* what) {
  node.require(count == wanted, fmt::format("'{}' has {} entries, not {}", what, count, wanted));
}

TreeMode mode_named(const NodeContext& node, const std::string& name) {
  static const std::map<std::string, TreeMode> modes = {
      {"LEAF", TreeMode::kLeaf},          {"BRANCH_LEQ", TreeMode::kLessEqual},    {"BRANCH_LT", TreeMode::kLess},
      {"BRANCH_EQ", TreeMode::kEqual},    {"BRANCH_GTE", TreeMode::kGreaterEqual}, {"BRANCH_GT", TreeMode::kGreater},
      {"BRANCH_NEQ", TreeMode::kNotEqual}};
  const auto found = modes.find(name);
  node.require(found != modes.end(), fmt::format("the mode '{}' is unknown", name));
  return found->second;
}

using NodeName = std::pair<int64_t, int64_t>;  // its tree, its number there

// Classifiers and regressors name nodes by tree and number; `prefix` begins the names of what leaves vote for.
Forest read_named_forest(const NodeContext& node, const std::string& prefix) {
  Forest forest;
  const std::vector<int64_t> trees = node.get_ints("nodes_treeids"), ids = node.get_ints("nodes_nodeids");
  const std::vector<int64_t> features = node.get_ints("nodes_featureids"), yes = node.get_ints("nodes_truenodeids");
  const std::vector<int64_t> no = node.get_ints("nodes_falsenodeids");
  const std::vector<int64_t> missing = node.get_ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = node.get_strings("nodes_modes");
  forest.splits = read_numbers(node, "nodes_values", &forest.dtype);
  const size_t count = trees.size();
  node.require(count > 0, "it has no nodes");
  require_count(node, ids.size(), count, "nodes_nodeids");
  require_count(node, features.size(), count, "nodes_featureids");
  require_count(node, yes.size(), count, "nodes_truenodeids");
  require_count(node, no.size(), count, "nodes_falsenodeids");
  require_count(node, modes.size(), count, "nodes_modes");
  require_count(node, forest.splits.size(), count, "nodes_values");
  if (!missing.empty()) require_count(node, missing.size(), count, "nodes_missing_value_tracks_true");

  std::map<NodeName, int64_t> named;
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    const bool is_new = named.emplace(NodeName(trees[i], ids[i]), static_cast<int64_t>(i)).second;
    node.require(is_new, fmt::format("tree {} has two nodes {}", trees[i], ids[i]));
    // A tree's first node is its root.
    if (seen.insert(trees[i]).second) forest.roots.push_back(static_cast<int64_t>(i));
  }
  const auto linked = [&](int64_t tree, int64_t id) {
    const auto found = named.find({tree, id});
    node.require(found != named.end(), fmt::format("tree {} has no node {}", tree, id));
    return found->second;
  };
  for (size_t i = 0; i < count; ++i) {
    TreeNode& made = forest.nodes.emplace_back();
    made.mode = mode_named(node, modes[i]);
    if (made.mode == TreeMode::kLeaf) continue;
    made.feature = features[i];
    made.yes = linked(trees[i], yes[i]);
    made.no = linked(trees[i], no[i]);
    made.begin = static_cast<int64_t>(i);
    made.missing_is_yes = !missing.empty() && missing[i] != 0;
  }

  const std::vector<int64_t> of_tree = node.get_ints(prefix + "_treeids"), of_node = node.get_ints(prefix + "_nodeids");
  const std::vector<int64_t> targets = node.get_ints(prefix + "_ids");
  const std::vector<double> weights = read_numbers(node, prefix + "_weights", &forest.dtype);
  require_count(node, of_tree.size(), targets.size(), "treeids of votes");
  require_count(node, of_node.size(), targets.size(), "nodeids of votes");
  require_count(node, weights.size(), targets.size(), "weights of votes");
  std::multimap<int64_t, size_t> by_leaf;
  for (size_t i = 0; i < targets.size(); ++i) by_leaf.emplace(linked(of_tree[i], of_node[i]), i);
  for (size_t i = 0; i < count; ++i) {
    if (forest.nodes[i].mode != TreeMode::kLeaf) continue;
    forest.nodes[i].begin = static_cast<int64_t>(forest.votes.size());
    const auto [first, last] = by_leaf.equal_range(static_cast<int64_t>(i));
    for (auto vote = first; vote != last; ++vote) {
      forest.votes.push_back(targets[vote->second]);
      forest.weights.push_back(weights[vote->second]);
    }
    forest.nodes[i].end = static_cast<int64_t>(forest.votes.size());
  }
  return forest;
}

std::vector<double> base_values(const NodeContext& node, int64_t targets) {
  DType ignored = DType::kF32;
  std::vector<double> base = read_numbers(node, "base_values", &ignored);
  node.require(base.empty() || base.size() == 1 || base.size() == static_cast<size_t>(targets),
               fmt::format("{} base values for {} targets", base.size(), targets));
  return base;
}

ValueId add_base(NodeContext& node, ValueId scores, const std::vector<double>& base) {
  return base.empty() ? scores : node.binary(PwOp::kAdd, scores, numbers_of(node, node.dtype(scores), base));
}

// ---- The operators

void tree_ensemble_regressor(NodeContext& node) {
  Forest forest = read_named_forest(node, "target");
  forest.targets = node.get_int("n_targets", 1);
  node.require(forest.targets >= 1 && forest.targets < (1 << 20), fmt::format("{} targets", forest.targets));
  const std::string aggregate = node.get_string("aggregate_function", "SUM");
  if (aggregate == "AVERAGE") {
    forest.aggregate = TreeAggregate::kAverage;
  } else if (aggregate == "MIN" || aggregate == "MAX") {
    forest.aggregate = aggregate == "MIN" ? TreeAggregate::kMin : TreeAggregate::kMax;
  } else {
    node.require(aggregate == "SUM", fmt::format("aggregate_function '{}' is unknown", aggregate));
  }
  const std::vector<double> base = base_values(node, forest.targets);
  const ValueId scores = add_base(node, emit_forest(node, std::move(forest)), base);
  node.set(0, node.cast(transformed(node, scores, post_transform_of(node)), DType::kF32));
}

// Two classes of which leaves vote for one only: its score decides, and the other's follows from it.
void set_binary(NodeContext& node, Forest forest, const std::vector<int64_t>& labels, const std::vector<double>& base) {
  const bool positive = std::all_of(forest.weights.begin(), forest.weights.end(), [](double w) { return w >= 0; });
  // Where leaves vote for the second class, ONNX Runtime leaves the first without votes.
  const bool is_second = base.empty() && !forest.votes.empty() && forest.votes.front() == 1;
  forest.targets = 1;
  std::fill(forest.votes.begin(), forest.votes.end(), 0);
  const std::vector<double> own = base.empty() ? base : std::vector<double>{base.back()};
  const ValueId score = add_base(node, emit_forest(node, std::move(forest)), own);
  set_labels(node, is_above(node, score, positive ? 0.5 : 0), labels);
  const PostTransform post = post_transform_of(node);
  const SecondScore second = is_second  ? SecondScore::kZero
                             : positive ? SecondScore::kComplement
                                        : SecondScore::kOpposite;
  node.set(1, node.cast(with_second_score(node, score, second, post), DType::kF32));
}

void tree_ensemble_classifier(NodeContext& node) {
  const std::vector<int64_t> labels = class_labels(node, "classlabels_int64s");
  Forest forest = read_named_forest(node, "class");
  const auto classes = static_cast<int64_t>(labels.size());
  node.require(classes >= 1, "it has no class labels");
  const std::vector<double> base = base_values(node, classes);
  const bool one_class =
      std::adjacent_find(forest.votes.begin(), forest.votes.end(), std::not_equal_to<>()) == forest.votes.end();
  if (classes == 2 && one_class) return set_binary(node, std::move(forest), labels, base);
  forest.targets = classes;
  const ValueId scores = add_base(node, emit_forest(node, std::move(forest)), base);
  set_labels(node, arg_max(node, scores), labels);
  node.set(1, node.cast(transformed(node, scores, post_transform_of(node)), DType::kF32));
}

// The numbers of a tensor attribute as integers (the modes).
std::vector<int64_t> read_codes(const NodeContext& node, const char* name) {
  const onnx::AttributeProto* found = node.attribute(name);
  node.require(found != nullptr && found->has_t(), fmt::format("'{}' is missing", name));
  const ir::Tensor tensor = read_tensor(found->t(), node.title());
  node.require(tensor.dtype == DType::kU8, fmt::format("'{}' is not of uint8", name));
  std::vector<int64_t> codes;
  for (const std::byte code : tensor.data) codes.push_back(std::to_integer<int64_t>(code));
  return codes;
}

// TreeEnsemble's inner nodes come first, then its leaves. Sets of members end with a NaN each, in the nodes' order.
void tree_ensemble(NodeContext& node) {
  Forest forest;
  forest.roots = node.get_ints("tree_roots");
  forest.targets = node.get_int("n_targets", 1);
  node.require(forest.targets >= 1 && forest.targets < (1 << 20), fmt::format("{} targets", forest.targets));
  const std::vector<int64_t> features = node.get_ints("nodes_featureids"), modes = read_codes(node, "nodes_modes");
  const std::vector<int64_t> yes = node.get_ints("nodes_truenodeids"), no = node.get_ints("nodes_falsenodeids");
  const std::vector<int64_t> yes_leaf = node.get_ints("nodes_trueleafs"), no_leaf = node.get_ints("nodes_falseleafs");
  const std::vector<int64_t> missing = node.get_ints("nodes_missing_value_tracks_true");
  forest.splits = read_numbers(node, "nodes_splits", &forest.dtype);
  const std::vector<double> sets = read_numbers(node, "membership_values", &forest.dtype);
  forest.votes = node.get_ints("leaf_targetids");
  forest.weights = read_numbers(node, "leaf_weights", &forest.dtype);
  const size_t count = features.size();
  require_count(node, modes.size(), count, "nodes_modes");
  require_count(node, forest.splits.size(), count, "nodes_splits");
  require_count(node, yes.size(), count, "nodes_truenodeids");
  require_count(node, no.size(), count, "nodes_falsenodeids");
  require_count(node, yes_leaf.size(), count, "nodes_trueleafs");
  require_count(node, no_leaf.size(), count, "nodes_falseleafs");
  if (!missing.empty()) require_count(node, missing.size(), count, "nodes_missing_value_tracks_true");
  require_count(node, forest.weights.size(), forest.votes.size(), "leaf_weights");

  const auto inner = static_cast<int64_t>(count), leaves = static_cast<int64_t>(forest.votes.size());
  const auto linked = [&](int64_t to, bool is_leaf) {
    node.require(to >= 0 && to < (is_leaf ? leaves : inner), fmt::format("a link leads to {}, which is not there", to));
    return is_leaf ? inner + to : to;
  };
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    TreeNode& made = forest.nodes.emplace_back();
    node.require(modes[i] <= static_cast<int64_t>(TreeMode::kMember), fmt::format("the mode {} is unknown", modes[i]));
    made.mode = static_cast<TreeMode>(modes[i]);
    made.feature = features[i];
    made.begin = static_cast<int64_t>(i);
    made.missing_is_yes = !missing.empty() && missing[i] != 0;
    if (made.mode == TreeMode::kMember) {
      made.begin = static_cast<int64_t>(forest.members.size());
      for (; next < sets.size() && !std::isnan(sets[next]); ++next) forest.members.push_back(sets[next]);
      ++next;
      made.end = static_cast<int64_t>(forest.members.size());
    }
    made.yes = linked(yes[i], yes_leaf[i] != 0);
    made.no = linked(no[i], no_leaf[i] != 0);
  }
  for (int64_t i = 0; i < leaves; ++i) {
    TreeNode& leaf = forest.nodes.emplace_back();
    leaf.begin = i;
    leaf.end = i + 1;
  }
  const int64_t aggregate = node.get_int("aggregate_function", 1), post = node.get_int("post_transform", 0);
  node.require(aggregate >= 0 && aggregate <= 3, fmt::format("aggregate_function {} is unknown", aggregate));
  node.require(post >= 0 && post <= 4, fmt::format("post_transform {} is unknown", post));
  constexpr TreeAggregate kAggregates[] = {TreeAggregate::kAverage, TreeAggregate::kSum, TreeAggregate::kMin,
                                           TreeAggregate::kMax};
  forest.aggregate = kAggregates[aggregate];
  node.set(0, transformed(node, emit_forest(node, std::move(forest)), static_cast<PostTransform>(post)));
}

constexpr ImporterRow kRows[] = {
    {"TreeEnsemble", tree_ensemble, kMlDomain},
    {"TreeEnsembleClassifier", tree_ensemble_classifier, kMlDomain},
    {"TreeEnsembleRegressor", tree_ensemble_regressor, kMlDomain},
};

}  // namespace

ImporterTable ml_tree_importers() { return kRows; }

}  // namespace planwright::builder::importer
