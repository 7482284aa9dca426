// What must hold of a graph's names before its nodes mean anything, and the order of its nodes.
#ifndef PLANWRIGHT_BUILDER_ONNX_GRAPH_CHECK_H_
#define PLANWRIGHT_BUILDER_ONNX_GRAPH_CHECK_H_

#include <vector>

#include "onnx/onnx_pb.h"

namespace planwright::builder {

// Checks that every name is defined once and before it is read (FAULTS B11-B13) in the graph and in the graphs of its
// nodes' attributes, and sorts nodes so that producers come first, otherwise in the order given. Throws Error:
// kInvalid naming the node, the value or the cycle; kUnsupported for graphs nested more than 16 deep.
void check_and_sort(onnx::GraphProto& graph);
// The same for a function of the model's own.
void check_and_sort(onnx::FunctionProto& function);

// The nodes that the outputs need, in order: a node that nothing reads is left out, whatever it is.
std::vector<const onnx::NodeProto*> needed_nodes(const onnx::GraphProto& graph);
// Those that the outputs wanted by `call` need.
std::vector<const onnx::NodeProto*> needed_nodes(const onnx::FunctionProto& function, const onnx::NodeProto& call);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_GRAPH_CHECK_H_
