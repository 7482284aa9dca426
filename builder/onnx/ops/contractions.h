// Products that several importers emit.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// numpy's matmul: a vector on the left is a row, one on the right a column, and its axis is dropped from the result.
ValueId matmul_of(NodeContext& node, ValueId a, ValueId b);

// The convolution that the node's attributes describe, without a bias.
ValueId conv_of(NodeContext& node, ValueId x, ValueId w);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_
