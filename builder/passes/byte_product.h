// Products in fp32 made products of bytes: of models that say how they are quantised, and of those that are here.
#ifndef PLANWRIGHT_BUILDER_PASSES_BYTE_PRODUCT_H_
#define PLANWRIGHT_BUILDER_PASSES_BYTE_PRODUCT_H_

#include <vector>

#include "builder/ir/interpret.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {

// Constant weights: a filter's or column's are int8 `levels`, of the weights' dims, times its scale.
struct LevelWeights {
  ir::Tensor levels;
  std::vector<double> scales;
};

// Whether a Conv or MatMul in fp32 (`core_inputs` 2) by weights of its dims would have kernels of bytes that are better
// than those of fp32, with an input of `levels`, uint8 or int8.
bool has_byte_kernels(const ir::Graph& graph, const ir::Node& node, DType levels);

// What such a node, whose program if any has fp32 operands, multiplies in place of fp32: `x`, of uint8 or int8, less
// `zero` (a constant number of that type, or kNone), times `scale`. References to nodes end.
struct LevelInput {
  ir::ValueId x = ir::kNone, zero = ir::kNone;
  double scale = 1;
};
void multiply_levels(ir::Graph& graph, ir::Node& node, const LevelInput& input, LevelWeights weights);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_BYTE_PRODUCT_H_
