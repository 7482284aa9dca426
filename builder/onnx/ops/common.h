// What importers of several groups share.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_COMMON_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_COMMON_H_

#include <string>
#include <utility>
#include <vector>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// A Pointwise of one operand: `body(program, x)` returns the register that is stored as `to`.
template <typename Body>
ValueId map(Emitter& emitter, ValueId x, DType to, const Body& body) {
  ProgramBuilder program;
  const Reg loaded = program.load(emitter.dtype(x));
  program.store(body(program, loaded), to);
  return emitter.pointwise(program, {x}, to);
}

// A Pointwise of two operands, broadcast against each other.
template <typename Body>
ValueId map(Emitter& emitter, ValueId a, ValueId b, DType to, const Body& body) {
  ProgramBuilder program;
  const Reg left = program.load(emitter.dtype(a));
  const Reg right = program.load(emitter.dtype(b));
  program.store(body(program, left, right), to);
  return emitter.pointwise(program, {a, b}, to);
}

// The node's first two inputs, ready to be broadcast as numpy does. Before opset 7 the second is lined up at the
// attribute `axis` instead of the last axis, and only where `broadcast` is set.
std::pair<ValueId, ValueId> broadcast_pair(NodeContext& node, bool same_type = true);

// `x` with `spatial` ones appended to its dims: [C] becomes [C, 1, 1].
ValueId per_channel(Emitter& emitter, ValueId x, int spatial);

// `dims` without the axes in the mask.
Shape without_axes(const Shape& dims, uint32_t mask);

// An axis attribute that splits the dims in two, so that it may also be the rank.
int normalize_split_axis(const NodeContext& node, int64_t axis, int rank);

// Each spatial axis's numbers, from an attribute or `fallback` each.
std::vector<int64_t> spatial_ints(const NodeContext& node, const std::string& name, size_t spatial, int64_t fallback);

// How a window moves over its input, one number a spatial axis.
struct Window {
  std::vector<int64_t> kernel, stride, dilation;
  Shape begin, end;  // pads
  Shape out;         // the output's spatial dims
};
// What moves a window in one axis: each at least 1, and all so small that the reach of the window has 32 bits.
void check_window(const NodeContext& node, int64_t kernel, int64_t stride, int64_t dilation);
// Reads strides, dilations, pads and auto_pad. Throws Error(kInvalid) for a stride, dilation or kernel below 1 and for
// a window larger than its padded input.
Window read_window(NodeContext& node, const Shape& x, std::vector<int64_t> kernel, bool ceil_mode);

// The pooling that the node's attributes describe; with the indices of the maxima where its second output is wanted.
std::vector<ValueId> pool_of(NodeContext& node, ValueId x, PoolKind kind);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_COMMON_H_
