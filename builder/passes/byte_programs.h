// Programs behind contractions of bytes, whose sums are int32: as their kernels take them (tactics/kernels/fast/
// byte_epilogue.h), all arithmetic in fp32.
#ifndef PLANWRIGHT_BUILDER_PASSES_BYTE_PROGRAMS_H_
#define PLANWRIGHT_BUILDER_PASSES_BYTE_PROGRAMS_H_

#include <optional>
#include <vector>

#include "builder/passes/rewrite.h"

namespace planwright::builder {

struct ByteProgram {
  ir::SsaProgram program;
  std::vector<ir::ValueId> operands;  // operands[i] is what the program loads as i
};

// The contraction's program and then that of a Pointwise which reads its result, joined. Integers become floats (sums
// past 2^24 are rounded once, so no number as large is added to them), constants are computed, and factors move to the
// sums: (s * a + b) / c is s * (a / c) + b / c. nullopt where it cannot be expressed so.
std::optional<ByteProgram> joined_byte_program(ir::Graph& graph, const ir::Node& contraction,
                                               const ir::Node& pointwise);

// Whether a value of class float was rounded and clipped to integers that the type, int8 or uint8, holds.
bool is_level(const ir::SsaProgram& program, ir::PwValue value, DType type);

// An integer value as one of class float, where fp32 holds all that it is computed from: levels that are made numbers
// again. nullopt elsewhere. `types[i]` is that of operand i.
std::optional<ir::PwValue> as_float(ir::SsaProgram& program, ir::PwValue value, const std::vector<DType>& types);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_BYTE_PROGRAMS_H_
