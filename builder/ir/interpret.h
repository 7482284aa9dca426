// Runs a graph at concrete shapes on reference kernels: the oracle of pass tests, and what constant folding uses.
#ifndef PLANWRIGHT_BUILDER_IR_INTERPRET_H_
#define PLANWRIGHT_BUILDER_IR_INTERPRET_H_

#include <cstdint>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::ir {

struct Tensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  Bytes data;  // dense row-major
};

// Computes the graph's outputs from one tensor per graph input. Input dims bind the symbols. Layouts and views in the
// graph do not matter here: every value is computed dense. Throws Error: kInvalid for inputs that do not fit or a
// broken guard, kPrecondition from a kernel.
std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs);

// Runs one node on dense tensors (null for an optional input not given), with its scalars and output dims evaluated
// already. What stands for an output that is kNone is undefined. Throws Error as the kernel's validate() and run() fail.
std::vector<Tensor> run_reference(const Node& node, const std::vector<const Tensor*>& inputs,
                                  const std::vector<int64_t>& scalars, const std::vector<DType>& output_types,
                                  const std::vector<std::vector<int64_t>>& output_dims);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_INTERPRET_H_
