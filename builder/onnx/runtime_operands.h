// Operands that are meant to be constants but are graph inputs: where the model declares the dims of its output, they
// tell what the operand must be, and a guard makes sure that it is.
#ifndef PLANWRIGHT_BUILDER_ONNX_RUNTIME_OPERANDS_H_
#define PLANWRIGHT_BUILDER_ONNX_RUNTIME_OPERANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// 1 where the two are equal, else 0, as an expression.
Dim is_equal(Dim a, Dim b);
// 1 where a is below b, else 0.
Dim is_less(Dim a, Dim b);
// `index` counted from the front of `length` where it is negative.
Dim from_front(Dim index, Dim length);

// Axes of `node`'s attribute or input `input` for an input of `rank` axes, as a mask; nothing where neither is given.
// `result` says what dims a choice of axes would give. Throws Refusal where they are computed and the declaration does
// not leave exactly one result.
using AxesResult = Shape (*)(const Shape& dims, uint32_t axes, bool keep);
std::optional<uint32_t> read_axes(NodeContext& node, int input, const Shape& dims, bool keep, AxesResult result);

// The dims to plan with where `computed` are expressions over an input's values: what the model declares of the output,
// held by a guard; else `computed` itself where it has bounds. Throws Refusal where it has none.
Shape settle_dims(NodeContext& node, const Shape& computed, int output = 0);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_RUNTIME_OPERANDS_H_
