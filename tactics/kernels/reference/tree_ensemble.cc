#include "tactics/kernels/reference/element.h"
#include "tactics/kernels/reference/reference.h"
#include "tactics/kernels/reference/walk.h"

namespace planwright::reference {
namespace {

enum Input { kX = 0, kRoots, kNodes, kSplits, kMembers, kVotes, kWeights };

// One row of the nodes.
struct Node {
  TreeMode mode;
  int64_t feature, yes, no, begin, end;
  bool missing_is_yes;
};

// The arrays of a forest. What they say is checked where it is read: a model's bytes must not decide which memory is.
class Forest {
 public:
  explicit Forest(const KernelArgs& args) : args_(args), nodes_(args.inputs[kNodes].dims[0]) {}

  // The leaf that row `row` of X reaches from `root`. False where a link is broken.
  bool find_leaf(int64_t row, int64_t root, Node* node) const {
    for (int64_t at = root;;) {
      if (at < 0 || at >= nodes_) return false;
      *node = read(at);
      if (node->mode == TreeMode::kLeaf) return is_range(*node, args_.inputs[kVotes]);
      bool is_yes = false;
      if (!decide(row, *node, &is_yes)) return false;
      const int64_t next = is_yes ? node->yes : node->no;
      if (next <= at) return false;  // links only ever lead on, so that every walk ends
      at = next;
    }
  }

 private:
  Node read(int64_t at) const {
    const auto column = [&](int64_t i) {
      const TensorView& nodes = args_.inputs[kNodes];
      return load<int64_t>(nodes, at * nodes.strides[0] + i * nodes.strides[1]);
    };
    const int64_t mode = column(0);
    const bool known = mode >= 0 && mode <= static_cast<int64_t>(TreeMode::kLeaf);
    return {known ? static_cast<TreeMode>(mode) : TreeMode::kUnknown,
            column(1),
            column(2),
            column(3),
            column(4),
            column(5),
            column(6) != 0};
  }

  static bool is_range(const Node& node, const TensorView& list) {
    return node.begin >= 0 && node.begin <= node.end && node.end <= list.dims[0];
  }

  bool decide(int64_t row, const Node& node, bool* is_yes) const {
    const TensorView &x = args_.inputs[kX], &splits = args_.inputs[kSplits];
    if (node.feature < 0 || node.feature >= x.dims[1]) return false;
    const double value = load<double>(x, row * x.strides[0] + node.feature * x.strides[1]);
    const auto split = [&](int64_t i) { return load<double>(splits, i * splits.strides[0]); };
    if (node.mode == TreeMode::kMember) {
      const TensorView& members = args_.inputs[kMembers];
      if (!is_range(node, members)) return false;
      *is_yes = value != value && node.missing_is_yes;
      for (int64_t i = node.begin; i < node.end && !*is_yes; ++i) {
        *is_yes = load<double>(members, i * members.strides[0]) == value;
      }
      return true;
    }
    if (node.begin < 0 || node.begin >= splits.dims[0]) return false;
    const double against = split(node.begin);
    switch (node.mode) {
      case TreeMode::kLessEqual: *is_yes = value <= against; break;
      case TreeMode::kLess: *is_yes = value < against; break;
      case TreeMode::kGreaterEqual: *is_yes = value >= against; break;
      case TreeMode::kGreater: *is_yes = value > against; break;
      case TreeMode::kEqual: *is_yes = value == against; break;
      case TreeMode::kNotEqual: *is_yes = value != against; break;
      default: return false;
    }
    *is_yes = *is_yes || (value != value && node.missing_is_yes);
    return true;
  }

  const KernelArgs& args_;
  int64_t nodes_;
};

double joined(TreeAggregate aggregate, double a, double b) {
  if (aggregate == TreeAggregate::kMin) return b < a ? b : a;
  if (aggregate == TreeAggregate::kMax) return b > a ? b : a;
  return a + b;
}

// What target `target` of row `row` gets from all trees. False where the forest is broken.
bool score(const KernelArgs& args, const Forest& forest, int64_t row, double* scores, bool* seen) {
  const auto& params = args.params_as<TreeEnsembleParams>();
  const TensorView &roots = args.inputs[kRoots], &votes = args.inputs[kVotes], &weights = args.inputs[kWeights];
  for (int64_t i = 0; i < params.targets; ++i) scores[i] = 0, seen[i] = false;
  for (int64_t tree = 0; tree < roots.dims[0]; ++tree) {
    Node leaf;
    if (!forest.find_leaf(row, load<int64_t>(roots, tree * roots.strides[0]), &leaf)) return false;
    for (int64_t i = leaf.begin; i < leaf.end; ++i) {
      const int64_t target = load<int64_t>(votes, i * votes.strides[0]);
      if (target < 0 || target >= params.targets) return false;
      const double weight = load<double>(weights, i * weights.strides[0]);
      scores[target] = seen[target] ? joined(params.aggregate, scores[target], weight) : weight;
      seen[target] = true;
    }
  }
  if (params.aggregate != TreeAggregate::kAverage) return true;
  for (int64_t i = 0; i < params.targets; ++i) scores[i] /= static_cast<double>(roots.dims[0]);
  return true;
}

}  // namespace

Status validate_tree_ensemble(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const auto& params = args.params_as<TreeEnsembleParams>();
  const TensorView& x = args.inputs[kX];
  PW_REQUIRE(params.aggregate >= TreeAggregate::kSum && params.aggregate <= TreeAggregate::kMax,
             "TreeEnsemble: unknown aggregate %d", static_cast<int>(params.aggregate));
  PW_REQUIRE(params.targets >= 1, "TreeEnsemble: %d targets", params.targets);
  PW_REQUIRE(x.rank == 2, "TreeEnsemble: the input has rank %d, not 2", x.rank);
  for (int i = kRoots; i <= kWeights; ++i) {
    const TensorView& input = args.inputs[i];
    const bool integers = i == kRoots || i == kNodes || i == kVotes;
    PW_REQUIRE(input.rank == (i == kNodes ? 2 : 1), "TreeEnsemble: operand %d has rank %d", i, input.rank);
    PW_REQUIRE(integers ? input.dtype == DType::kI64 : is_float(input.dtype), "TreeEnsemble: operand %d is %s", i,
               name_of(input.dtype));
  }
  PW_REQUIRE(args.inputs[kNodes].dims[1] == kTreeNodeColumns, "TreeEnsemble: the nodes are not rows of %d numbers",
             kTreeNodeColumns);
  PW_REQUIRE(args.inputs[kVotes].dims[0] == args.inputs[kWeights].dims[0], "TreeEnsemble: %ld votes with %ld weights",
             args.inputs[kVotes].dims[0], args.inputs[kWeights].dims[0]);
  PW_REQUIRE(is_float(args.outputs[0].dtype), "TreeEnsemble: the output is %s, not a float",
             name_of(args.outputs[0].dtype));
  const int64_t dims[2] = {x.dims[0], params.targets};
  return require_dims(args, 0, dims, 2);
}

size_t tree_ensemble_workspace(const KernelArgs&) { return 0; }
// A score and whether there is one, for every target.
size_t tree_ensemble_scratch(const KernelArgs& args) {
  return static_cast<size_t>(args.params_as<TreeEnsembleParams>().targets) * (sizeof(double) + sizeof(bool));
}

Status run_tree_ensemble(const KernelArgs& args) {
  const auto targets = int64_t{args.params_as<TreeEnsembleParams>().targets};
  const TensorView& y = args.outputs[0];
  const Forest forest(args);
  bool broken = false;
  for_each_run(args, y.dims[0], [&](int64_t begin, int64_t end, int worker) {
    std::byte* scratch = args.scratch + static_cast<size_t>(worker) * args.scratch_stride;
    double* scores = reinterpret_cast<double*>(scratch);
    bool* seen = reinterpret_cast<bool*>(scores + targets);
    for (int64_t row = begin; row < end; ++row) {
      if (!score(args, forest, row, scores, seen)) return __atomic_store_n(&broken, true, __ATOMIC_RELAXED);
      for (int64_t i = 0; i < targets; ++i) store(y, row * y.strides[0] + i * y.strides[1], scores[i]);
    }
  });
  if (!broken) return kOkStatus;
  return error(StatusCode::kPrecondition,
               "TreeEnsemble: a node names a feature, node, split or vote that is not there");
}

}  // namespace planwright::reference
