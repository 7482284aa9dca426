// What importers of quantised operators share.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_QUANTIZED_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_QUANTIZED_H_

#include <optional>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// Refuses a scale that is known and is none: 0, a denormal (1 / scale is infinite), NaN, infinity. Quantisers do write
// negative ones, where they put the largest weight at the end of the range that reaches further.
void check_scale(const NodeContext& node, int input);

// Stores round(y) + zero point, clamped into `dtype`; of a minifloat y + zero point, which saturates unless the node's
// attribute says otherwise.
void store_quantized(const NodeContext& node, ProgramBuilder& p, Reg y, std::optional<Reg> zero, DType dtype);

// x - zero point: of integers as int32, which every product of 8-bit numbers fits, of minifloats as fp32.
ValueId centred(NodeContext& node, ValueId x, std::optional<ValueId> zero);

// An input that is a zero point or scale of a matrix, so that it broadcasts to it: on the left it belongs to the rows,
// on the right to the columns.
std::optional<ValueId> by_row(NodeContext& node, int input);
std::optional<ValueId> by_column(NodeContext& node, int input);

// The scale and zero point that spread uint8 over all of x and 0; then x in uint8. Where that is no width, because x is
// empty or all 0, the scale is 1, as ONNX Runtime has it.
struct DynamicQuantized {
  ValueId x, scale, zero;
};
DynamicQuantized quantize_dynamically(NodeContext& node, ValueId x);

// sum * (scale_a * scale_b / scale_y), rounded, plus the zero point, in whose type it is.
ValueId requantized(NodeContext& node, ValueId sum, ValueId a_scale, ValueId b_scale, ValueId y_scale, ValueId y_zero);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_QUANTIZED_H_
