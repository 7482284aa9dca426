#include "builder/onnx/runtime_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace planwright::builder::importer {
namespace {

// Larger than any dim: what an expression over an input's values, which may be anything, can come to.
constexpr int64_t kUnbounded = int64_t{1} << 40;

bool is_bounded(Dim dim) {
  const ir::Interval range = ir::range_of(dim);
  return range.min >= -kUnbounded && range.max <= kUnbounded;
}

bool depends_on_values(ir::Graph& graph, Dim dim) {
  std::vector<ir::ExprInstr> list;
  ir::flatten(dim, list);
  return std::any_of(list.begin(), list.end(), [&](const ir::ExprInstr& instr) {
    return instr.op == ir::ExprOp::kSymbol &&
           graph.exprs().symbols()[static_cast<size_t>(instr.value)].origin == ir::SymbolOrigin::kInputValue;
  });
}

// 1 where the elements, whichever way round and from whichever end they count, are the axes in the mask.
Dim names_axes(const Shape& elements, uint32_t mask, int rank) {
  Dim all = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if ((mask >> axis & 1) == 0) continue;
    Dim times = 0;
    for (const Dim& element : elements) times = times + is_equal(element, axis) + is_equal(element, axis - rank);
    all = all * is_equal(times, 1);
  }
  return all;
}

}  // namespace

Dim is_less(Dim a, Dim b) {
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

std::optional<uint32_t> read_axes(NodeContext& node, int input, const Shape& dims, bool keep, AxesResult result) {
  const int rank = static_cast<int>(dims.size());
  if (node.has_attribute("axes")) return node.axis_mask(node.get_ints("axes"), rank);
  if (!node.has(input)) return std::nullopt;
  const std::optional<Shape>& elements = node.elements(input);
  const bool computed = !node.input(input).is_constant() &&
                        !(elements && std::all_of(elements->begin(), elements->end(),
                                                  [](const Dim& element) { return element.is_constant(); }));
  if (!computed) return node.axis_mask(node.constant_ints(input, "axes"), rank);
  const std::optional<std::vector<int64_t>> declared = node.declared_static(0);
  if (!elements || !declared) {
    node.unsupported("'axes' is computed at run time; make it an initializer");
  }
  const Shape wanted(declared->begin(), declared->end());
  std::optional<uint32_t> chosen;
  Dim matches = 0;
  for (uint32_t mask = 0; mask < 1u << rank; ++mask) {
    if (std::popcount(mask) != static_cast<int>(elements->size()) || result(dims, mask, keep) != wanted) continue;
    // Axes of length 1 may be exchanged for each other: every choice that gives the declared dims computes the same.
    const bool same = !chosen || [&] {
      for (int axis = 0; axis < rank; ++axis) {
        const bool differs = ((mask ^ *chosen) >> axis & 1) != 0;
        if (differs && dims[static_cast<size_t>(axis)] != Dim(1)) return false;
      }
      return true;
    }();
    if (!same) node.unsupported("'axes' is computed at run time and its output's shape leaves several choices");
    chosen = chosen.value_or(mask);
    matches = matches + names_axes(*elements, mask, rank);
  }
  node.require(chosen.has_value(),
               fmt::format("no 'axes' make its input {} the declared {}", ir::to_string(dims), ir::to_string(wanted)));
  node.guard_equal(matches, 1, fmt::format("'axes' must make its output the declared {}", ir::to_string(wanted)));
  return chosen;
}

Shape settle_dims(NodeContext& node, const Shape& computed, int output) {
  const bool by_value = std::any_of(computed.begin(), computed.end(),
                                    [&](const Dim& dim) { return depends_on_values(node.graph(), dim); });
  if (!by_value) return computed;
  const std::optional<std::vector<int64_t>> declared = node.declared_static(output);
  if (!declared) {
    if (std::all_of(computed.begin(), computed.end(), is_bounded)) return computed;
    node.unsupported("the size of its output depends on the values of an input; make that input an initializer");
  }
  node.require(declared->size() == computed.size(),
               fmt::format("its output is declared with {} axes, it has {}", declared->size(), computed.size()));
  Shape settled;
  for (size_t i = 0; i < computed.size(); ++i) {
    settled.push_back((*declared)[i]);
    node.guard_equal(computed[i], (*declared)[i], fmt::format("axis {} must be as the model declares it", i));
  }
  return settled;
}

}  // namespace planwright::builder::importer
