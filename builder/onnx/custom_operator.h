// Nodes that a plugin knows.
#ifndef PLANWRIGHT_BUILDER_ONNX_CUSTOM_OPERATOR_H_
#define PLANWRIGHT_BUILDER_ONNX_CUSTOM_OPERATOR_H_

#include "builder/onnx/node_context.h"
#include "tactics/kernels/custom.h"

namespace planwright::builder::importer {

// The registered operator that the node is; null: none.
const CustomOperator* find_custom(const onnx::NodeProto& node);

// Asks the plugin what the node means and emits one Custom. Throws as an ImportFunction does; what the plugin does
// wrong is kUnsupported too, and says so.
void import_custom(NodeContext& node, const CustomOperator& op);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_CUSTOM_OPERATOR_H_
