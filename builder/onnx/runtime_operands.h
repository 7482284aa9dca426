// Operands that decide on shapes and may be computed: as expressions, with bounds.
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

// Throws Error(kInvalid) with `reason` where `step` is 0, or has the loader do so once it is known.
void guard_not_zero(NodeContext& node, Dim step, const std::string& reason);

// Axes of `node`'s attribute or input `input` for an input of `rank` axes, as a mask; nothing where neither is given.
std::optional<uint32_t> read_axes(const NodeContext& node, int input, int rank);

// Throws Refusal where a dim depends on values and has no bounds, so that no memory can be planned for it.
void require_bounded(const NodeContext& node, const Shape& dims);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_RUNTIME_OPERANDS_H_
