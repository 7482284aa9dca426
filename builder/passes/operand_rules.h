// What the fast kernels of each operator want of their operands' strides. One table (operand_rules.cc): the layout and
// views passes place values by it. A step that breaks it still runs, on a reference kernel.
#ifndef PLANWRIGHT_BUILDER_PASSES_OPERAND_RULES_H_
#define PLANWRIGHT_BUILDER_PASSES_OPERAND_RULES_H_

#include <cstddef>

#include "builder/ir/graph.h"

namespace planwright::builder {

enum class Access : uint8_t {
  kAny,
  kLastAxis,      // the last axis contiguous (stride 1)
  kMatrix,        // the last axis or the one before it contiguous: a matrix that is packed as it is or transposed
  kParamAxis,     // the axis that the operator's params name contiguous
  kTrailing,      // axes from the one that params name on dense and row-major
  kChannelsLast,  // axis 1 contiguous
  kRowMajor,      // dense, row-major
};

// Of the operator's own operand `input`, and of what it writes. Operands of a program are not in the table: those of
// the output's dims want the output's order, those that broadcast may lie anyhow.
Access input_access(const ir::Graph& graph, const ir::Node& node, size_t input);
Access output_access(const ir::Graph& graph, const ir::Node& node);

// Whether strides give the access; axes proven to be of length 1 do not matter.
bool allows(Access access, const ir::Node& node, const ir::Shape& dims, const ir::Shape& strides);

// The layout that a copy made for this access gets, and that an operator which writes so gives its result.
ir::Layout layout_for(Access access, const ir::Node& node, int rank);

// A Reshape, Transpose, Expand or Slice of positive steps: what can be a view of its input.
bool is_movement(const ir::Node& node);

// How an operator's result lies when nothing that reads it says otherwise.
enum class ResultOrder : uint8_t {
  kRowMajor,
  kAsAccess,  // as output_access says
  kAsInput,   // in the order of input 0, which has as many axes
};
ResultOrder result_order(OpKind kind);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_OPERAND_RULES_H_
