// Products that several importers emit.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// numpy's matmul: a vector on the left is a row, one on the right a column, and its axis is dropped from the result.
ValueId matmul_of(NodeContext& node, ValueId a, ValueId b);

// The convolution that the node's attributes describe, without a bias; widened.
ValueId conv_of(NodeContext& node, ValueId x, ValueId w);

// `y` with input `bias`, one number a channel, added in y's type where the node has it.
ValueId add_channel_bias(NodeContext& node, ValueId y, int bias);

// alpha * A' * B' + beta * C, as the node's attributes say; widened.
ValueId gemm_of(NodeContext& node);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_CONTRACTIONS_H_
