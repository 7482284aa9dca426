// Checks of a single node against its schema and the model's declarations.
#ifndef PLANWRIGHT_BUILDER_ONNX_NODE_CHECK_H_
#define PLANWRIGHT_BUILDER_ONNX_NODE_CHECK_H_

#include <string>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// ONNX's own domain has two names, "" and "ai.onnx": the first.
std::string plain_domain(const std::string& domain);
// The newest opset of a domain that the ONNX library knows; 0 for a domain that is not ONNX's.
int64_t newest_opset(const std::string& domain);

// The operator's schema at that opset; null where ONNX has none.
const onnx::OpSchema* find_schema(const onnx::NodeProto& node, int64_t opset);

// Throws Error(kInvalid) naming the node where an attribute does not exist in the opset or has another type, a required
// one is missing, or there are too few or too many inputs or outputs. Throws Error(kUnsupported) where the operator is
// deprecated.
void check_node(const onnx::NodeProto& node, const onnx::OpSchema& schema, int64_t opset, const std::string& layer);

// If, Loop and Scan, whose attributes are graphs to run.
bool is_control_flow(const std::string& domain, const std::string& op);

// What makes or takes sequences and optionals, which exist during import only.
bool is_sequence_operator(const std::string& domain, const std::string& op);

// Throws Error(kInvalid) where an input is of a type that the operator does not take, or of another type than one that
// must be the same.
void check_types(const onnx::NodeProto& node, const onnx::OpSchema& schema, int64_t opset, const std::string& layer,
                 const ir::Graph& graph, const std::vector<ValueId>& inputs);

// Whether an importer or a function of ONNX's exists for the operator, whatever its inputs.
bool is_supported_operator(const onnx::NodeProto& node, int64_t opset);
// Why there is none, and what to try.
std::string unknown_operator_reason(const onnx::NodeProto& node, int64_t opset);

// Throws Error(kInvalid), showing both, where the model declares another type or shape for `name` than it has.
void check_declaration(const NodeContext& node, const Declaration& declared, const ir::Value& made,
                       const std::string& name);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_NODE_CHECK_H_
