// If and Loop: how a node's operands and results match those of its bodies.
//
// A body is a graph of its own over the same expressions. What it uses from outside are operands of the node; it has
// formal inputs for them. Operands and results lie dense and row-major.
//
//   If    inputs  condition, the operands of body 0, those of body 1
//         outputs what the bodies' outputs are, one of the two
//   Loop  inputs  trip count (optional where there is a condition), carried values, what the body only reads
//         outputs iterations done, carried values, stacks: what each iteration makes, along a new first axis
//         body    iteration, carried values, what it only reads -> carried values, what is stacked
//
// A Loop's iteration is a symbol too (kStepResult), which has a value inside the body only. The elements of the body's
// first input say so.
#ifndef PLANWRIGHT_BUILDER_IR_CONTROL_H_
#define PLANWRIGHT_BUILDER_IR_CONTROL_H_

#include <string>

#include "builder/ir/graph.h"

namespace planwright::ir {

// The node's value that a body's formal input stands for; of a Loop's iteration the node's own output.
ValueId value_behind(const Node& node, size_t body, size_t formal);
// Where among the node's inputs that value stands; not for a Loop's iteration.
size_t operand_behind(const Node& node, size_t body, size_t formal);
// The node's output that a body's output becomes.
size_t result_of(const Node& node, size_t body_output);
// Whether a body's output is handed to the next iteration.
bool is_carried(const Node& node, size_t body_output);

// The index of the symbol that an expression is; kNone for other expressions.
int32_t symbol_of(Dim dim);
// The symbol that is a Loop's iteration.
int32_t iteration_of(const Node& loop);

// What is wrong with a node of control flow and its bodies; empty when nothing is.
std::string verify_control(const Graph& graph, const Node& node);

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_CONTROL_H_
