#include "builder/onnx/runtime_operands.h"

#include <algorithm>

namespace planwright::builder::importer {
namespace {

// Larger than any dim: what an expression over an input's values, which may be anything, can come to.
constexpr int64_t kUnbounded = int64_t{1} << 40;

bool is_bounded(Dim dim) {
  const ir::Interval range = ir::range_of(dim);
  return range.min >= -kUnbounded && range.max <= kUnbounded;
}

}  // namespace

Dim is_less(Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return a.constant() < b.constant() ? 1 : 0;  // where a + 1 overflows, too
  if (ir::proven_at_most(a + 1, b)) return 1;
  if (ir::proven_at_most(b, a)) return 0;
  return ir::min(ir::max(b - a, 0), 1);
}

Dim is_equal(Dim a, Dim b) {
  if (ir::proven_equal(a, b)) return 1;
  if (ir::proven_different(a, b)) return 0;
  return Dim(1) - ir::min(ir::max(a - b, b - a), 1);
}

Dim from_front(Dim index, Dim length) {
  // max() first, so that the most negative number does not overflow.
  return index - length * ir::min(ir::max(index, -1), 0);
}

void guard_not_zero(NodeContext& node, Dim step, const std::string& reason) {
  node.require(!(step == Dim(0)), reason);
  node.guard_at_most(1, is_less(0, step) + is_less(step, 0), reason);
}

std::optional<uint32_t> read_axes(const NodeContext& node, int input, int rank) {
  if (node.has_attribute("axes")) return node.axis_mask(node.get_ints("axes"), rank);
  if (!node.has(input)) return std::nullopt;
  return node.axis_mask(node.constant_ints(input, "axes"), rank);
}

void require_bounded(const NodeContext& node, const Shape& dims) {
  if (std::all_of(dims.begin(), dims.end(), is_bounded)) return;
  node.unsupported(
      "the size of its output depends on values without bounds; give those of the input they come from as you give "
      "shapes, or make it an initializer");
}

}  // namespace planwright::builder::importer
