#include "builder/onnx/ops/forest.h"

#include <fmt/format.h>

#include "builder/onnx/ops/ml.h"

namespace planwright::builder::importer {
namespace {

// Copies of shared nodes: exporters share a few, and a forest that this makes larger was made to be.
constexpr size_t kMaxGrowth = 4, kGrowthFloor = 1024;

const TreeNode& node_at(const NodeContext& node, const Forest& forest, int64_t at) {
  node.require(at >= 0 && at < static_cast<int64_t>(forest.nodes.size()),
               fmt::format("a link leads to node {} of {}", at, forest.nodes.size()));
  return forest.nodes[static_cast<size_t>(at)];
}

void refuse_circles(const NodeContext& node, const Forest& forest) {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(forest.nodes.size());
  for (const int64_t root : forest.roots) node_at(node, forest, root);
  // From every node: those that no root reaches are looked at too before they are dropped.
  for (int64_t first = 0; first < static_cast<int64_t>(forest.nodes.size()); ++first) {
    std::vector<int64_t> open{first};
    while (!open.empty()) {
      const int64_t at = open.back();
      const TreeNode& here = node_at(node, forest, at);
      Mark& mark = marks[static_cast<size_t>(at)];
      if (mark != Mark::kNew || here.mode == TreeMode::kLeaf) {
        mark = Mark::kDone;  // what follows it is, too
        open.pop_back();
        continue;
      }
      mark = Mark::kOpen;
      for (const int64_t next : {here.yes, here.no}) {
        node_at(node, forest, next);
        const Mark of_next = marks[static_cast<size_t>(next)];
        node.require(of_next != Mark::kOpen, "the links of a tree lead in a circle");
        if (of_next == Mark::kNew) open.push_back(next);
      }
    }
  }
}

// Exporters write "x is one of a, b, c" as a chain of equalities with one node behind every yes. Such a chain becomes
// one node of members.
void join_equalities(Forest& forest) {
  const auto at = [&](int64_t i) -> TreeNode& { return forest.nodes[static_cast<size_t>(i)]; };
  const auto goes_on = [&](const TreeNode& from) {
    if (from.mode != TreeMode::kEqual) return false;
    const TreeNode& to = at(from.no);
    return to.mode == TreeMode::kEqual && to.feature == from.feature && to.yes == from.yes;
  };
  const size_t most = kMaxGrowth * forest.nodes.size() + kGrowthFloor;
  std::vector<bool> is_inside(forest.nodes.size());
  for (const TreeNode& node : forest.nodes) {
    if (goes_on(node)) is_inside[static_cast<size_t>(node.no)] = true;
  }
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    TreeNode& head = forest.nodes[i];
    if (is_inside[i] || !goes_on(head)) continue;
    if (forest.members.size() > most) return;  // chains that end in one another; they are right as they are
    TreeNode set = head;
    set.mode = TreeMode::kMember;
    set.begin = static_cast<int64_t>(forest.members.size());
    for (const TreeNode* link = &head;; link = &at(link->no)) {
      forest.members.push_back(forest.splits[static_cast<size_t>(link->begin)]);
      set.missing_is_yes = set.missing_is_yes || link->missing_is_yes;
      set.no = link->no;
      if (!goes_on(*link)) break;
    }
    set.end = static_cast<int64_t>(forest.members.size());
    head = set;
  }
}

// Nodes in the order in which every link leads on. A node of several links is copied.
void order_nodes(const NodeContext& node, Forest& forest) {
  struct Visit {
    int64_t at, parent;  // in the old order, in the new one; -1: a root
    bool is_yes;
  };
  const size_t most = kMaxGrowth * forest.nodes.size() + kGrowthFloor;
  std::vector<TreeNode> ordered;
  for (int64_t& root : forest.roots) {
    std::vector<Visit> open{{root, -1, false}};
    root = static_cast<int64_t>(ordered.size());
    while (!open.empty()) {
      const Visit visit = open.back();
      open.pop_back();
      if (ordered.size() == most) node.unsupported("its trees share nodes so often that no trees can be made of them");
      const auto placed = static_cast<int64_t>(ordered.size());
      const TreeNode here = ordered.emplace_back(node_at(node, forest, visit.at));
      if (visit.parent >= 0) {
        TreeNode& parent = ordered[static_cast<size_t>(visit.parent)];
        (visit.is_yes ? parent.yes : parent.no) = placed;
      }
      if (here.mode == TreeMode::kLeaf) continue;
      open.push_back({here.yes, placed, true});
      open.push_back({here.no, placed, false});
    }
  }
  forest.nodes = std::move(ordered);
}

}  // namespace

// The forest's scores of the node's input: [N, targets].
ValueId emit_forest(NodeContext& node, Forest forest) {
  refuse_circles(node, forest);
  join_equalities(forest);
  order_nodes(node, forest);
  // Splits of fp32 know no more of an integer than its fp32; learners of trees round their data likewise.
  const bool rounds = !is_float(node.in_type(0)) && forest.dtype == DType::kF32;
  const ValueId x = rounds ? node.cast(node.in(0), DType::kF32) : node.in(0);
  node.require(node.rank(x) == 1 || node.rank(x) == 2, fmt::format("its input has {} axes, not 1 or 2", node.rank(x)));
  const ValueId rows = node.rank(x) == 1 ? node.unsqueeze(x, 0) : x;
  const int64_t columns = constant_columns(node, rows);
  std::vector<int64_t> table;
  table.reserve(forest.nodes.size() * kTreeNodeColumns);
  for (const TreeNode& row : forest.nodes) {
    node.require(row.mode == TreeMode::kLeaf || (row.feature >= 0 && row.feature < columns),
                 fmt::format("a node asks for feature {} of {}", row.feature, columns));
    table.insert(table.end(), {static_cast<int64_t>(row.mode), row.feature, row.yes, row.no, row.begin, row.end,
                               row.missing_is_yes ? 1 : 0});
  }
  for (const int64_t vote : forest.votes) {
    node.require(vote >= 0 && vote < forest.targets,
                 fmt::format("a leaf votes for target {} of {}", vote, forest.targets));
  }
  TreeEnsembleParams params;
  params.aggregate = forest.aggregate;
  params.targets = static_cast<int32_t>(forest.targets);
  const ValueId nodes = node.reshape(node.ints(table), {static_cast<int64_t>(forest.nodes.size()), kTreeNodeColumns});
  Operation operation{OpKind::kTreeEnsemble,
                      params,
                      {rows, node.ints(forest.roots), nodes, numbers_of(node, forest.dtype, forest.splits),
                       numbers_of(node, forest.dtype, forest.members), node.ints(forest.votes),
                       numbers_of(node, forest.dtype, forest.weights)}};
  operation.results[0].dtype = forest.dtype;
  return node.emit_one(std::move(operation));
}

}  // namespace planwright::builder::importer
