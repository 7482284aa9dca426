// Functions: a model's own, and those by which ONNX's schemas define an operator through others.
#ifndef PLANWRIGHT_BUILDER_ONNX_FUNCTION_BODY_H_
#define PLANWRIGHT_BUILDER_ONNX_FUNCTION_BODY_H_

#include <memory>
#include <vector>

#include "builder/ir/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace planwright::builder::importer {

// The body by which the schema defines this node at `opset`; null where it has none. `inputs` (kNone where not given)
// say what types and ranks a body that depends on them may ask for.
std::shared_ptr<const onnx::FunctionProto> schema_function(const onnx::NodeProto& node, const onnx::OpSchema& schema,
                                                           int opset, const ir::Graph& graph,
                                                           const std::vector<ir::ValueId>& inputs);

// `node`, from the body of `function`, with the attributes that refer to those of the call replaced by the call's own,
// the function's defaults or `schema`'s (may be null); those that none of them gives are left out.
onnx::NodeProto resolve_attributes(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                   const onnx::NodeProto& call, const onnx::OpSchema* schema);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_FUNCTION_BODY_H_
