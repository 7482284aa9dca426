// Evaluates what a model computes on shapes, element by element, as expressions.
#ifndef PLANWRIGHT_BUILDER_ONNX_SHAPE_ARITHMETIC_H_
#define PLANWRIGHT_BUILDER_ONNX_SHAPE_ARITHMETIC_H_

#include <optional>
#include <vector>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// One output of a node, known element by element.
struct KnownTensor {
  DType dtype = DType::kI64;
  Shape dims;      // constants
  Shape elements;  // at most kMaxElements
};

// The outputs of a node that computes small integer tensors from tensors whose elements are known; nothing where that
// is not so. Adds nothing to the graph. Does not handle Shape and Size, whose inputs may be anything, nor
// ConstantOfShape, whose small results are folded.
std::optional<std::vector<KnownTensor>> shape_arithmetic(const NodeContext& node);

// Whether an element may be more than its type holds, so that another is computed at run time; one of int32 alone.
bool may_wrap(const KnownTensor& tensor);
// Has the loader refuse shapes at which that is so. The tensor is what shape_arithmetic() made of the node.
void guard_against_wrapping(NodeContext& node, const KnownTensor& tensor);

// The node's operands that decide on shapes (Reshape's shape, Slice's starts ...), by input number.
std::vector<int> shape_operands(const std::string& op_type);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_SHAPE_ARITHMETIC_H_
