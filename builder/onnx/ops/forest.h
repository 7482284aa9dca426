// A forest of decision trees on its way from a model's attributes to a TreeEnsemble.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_FOREST_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_FOREST_H_

#include <vector>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

struct TreeNode {
  TreeMode mode = TreeMode::kLeaf;
  int64_t feature = 0;
  int64_t yes = 0, no = 0;     // nodes
  int64_t begin = 0, end = 0;  // a leaf's votes, a set's members; begin is also the split
  bool missing_is_yes = false;
};

// As the attributes say it: links may lead anywhere, several of them to one node.
struct Forest {
  std::vector<int64_t> roots;
  std::vector<TreeNode> nodes;
  std::vector<double> splits, members;
  std::vector<int64_t> votes;  // each vote's target
  std::vector<double> weights;
  DType dtype = DType::kF32;  // of splits, members and weights
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::kSum;
};

// The forest's scores of the node's input: [N, targets]. Every node gets one link in the operator's table, whatever the
// model's have: kernels rely on it.
ValueId emit_forest(NodeContext& node, Forest forest);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_FOREST_H_
