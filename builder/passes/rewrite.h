// What passes share: reading a graph for patterns, and replacing what they match.
#ifndef PLANWRIGHT_BUILDER_PASSES_REWRITE_H_
#define PLANWRIGHT_BUILDER_PASSES_REWRITE_H_

#include <optional>
#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/ir/program_ssa.h"

namespace planwright::builder {

// The node that computes a value, null for a graph input or a constant.
ir::Node* producer_of(ir::Graph& graph, ir::ValueId id);
const ir::Node* producer_of(const ir::Graph& graph, ir::ValueId id);
// The same when it is of that kind, else null.
ir::Node* producer_of(ir::Graph& graph, ir::ValueId id, OpKind kind);
const ir::Node* producer_of(const ir::Graph& graph, ir::ValueId id, OpKind kind);

// The only node that reads a value (once or more); null when others do, none does, or it is a graph output.
ir::Node* only_user(ir::Graph& graph, ir::ValueId id);

// Whether two shapes are proven equal, axis by axis.
bool same_shape(const ir::Shape& a, const ir::Shape& b);

// The value that all elements of a constant have, converted to double; nullopt for other values, and for integers that
// a double does not hold.
std::optional<double> splat_of(const ir::Value& value);
// The elements of a constant of a float type as doubles.
std::vector<double> float_elements(const ir::Value& value);
// The elements of an fp32 constant that differ at most along the axis that is the `axis_from_end`th before the last, of
// length `count` or 1: one number a channel or one for all. nullopt for other values.
std::optional<std::vector<double>> channel_elements(const ir::Value& value, size_t axis_from_end, int64_t count);
// The dims of a value all of whose dims are constants.
std::vector<int64_t> constant_dims(const ir::Value& value);
// Adds an fp32 constant, each element rounded once.
ir::ValueId add_float_constant(ir::Graph& graph, const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<double>& elements);

// A Pointwise node that does one operation on its operands, in the float class.
struct OneOp {
  struct Operand {
    ir::ValueId value = ir::kNone;   // kNone: an immediate of the program
    std::optional<double> constant;  // an immediate, or a constant whose elements are all equal
  };
  ir::Node* node = nullptr;
  PwOp op = PwOp::kLoad;
  std::vector<Operand> operands;
};
// What the producer of a value is, when it is such a node.
std::optional<OneOp> one_op_of(ir::Graph& graph, ir::ValueId id);

// One operation of two operands, one of which is `known` (either side when the operation commutes): the other one.
std::optional<OneOp::Operand> other_operand(const OneOp& op, ir::ValueId known);

inline bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
// Whether a node multiplies uint8 or int8 by int8 (tactics/kernels/fast/byte_tile.h); it may have a zero point then.
bool is_byte_contraction(const ir::Graph& graph, const ir::Node& node);

// Has a node compute `integers` in place of its output, which a Pointwise behind it makes of them: as floats, times
// `scale`, and then what the node's program made of its sums, on fp32 operands. References to nodes end.
void scale_behind(ir::Graph& graph, ir::Node& node, ir::ValueId integers, ir::ValueId scale);

// The node that stands behind another one in the order, where what is to run right after that goes; kNone at the end.
ir::NodeId node_behind(const ir::Graph& graph, ir::NodeId id);

// `to` does the work of `from` too: its ONNX names are added, each once.
void take_names(ir::Node& to, const ir::Node& from);

// Makes every use of the node's only output a use of `replacement`, and erases the node.
void replace_node(ir::Graph& graph, ir::Node& node, ir::ValueId replacement);

// Sets a node's program and operands after its core inputs: `operands[i]` is what the program loads as i. Operands that
// are the same value become one, those not loaded go. False, and nothing changes, where limits of program.h are passed.
bool set_program(ir::Node& node, const ir::SsaProgram& program, const std::vector<ir::ValueId>& operands);

// Appends `from` to `to`, loads[i] in place of what `from` loads as i, `accumulator` in place of its kAcc, stores left
// out; returns the values that it would store, by output.
std::vector<ir::PwValue> inline_program(ir::SsaProgram& to, const ir::SsaProgram& from,
                                        const std::vector<ir::PwValue>& loads, ir::PwValue accumulator);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_REWRITE_H_
