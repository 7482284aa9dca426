#include "builder/ir/results.h"

#include <algorithm>

namespace planwright::ir {

std::vector<ValueId> results_in(const Graph& graph, const Shape& dims) {
  std::vector<ValueId> values;
  for (const int index : symbols_of(dims)) {
    const Symbol& symbol = graph.expr_pool()->symbols()[static_cast<size_t>(index)];
    if (symbol.origin != SymbolOrigin::kStepResult) continue;
    if (std::find(values.begin(), values.end(), symbol.source) == values.end()) values.push_back(symbol.source);
  }
  return values;
}

std::vector<ValueId> results_read_by(const Graph& graph, const Node& node) {
  const std::vector<Symbol>& symbols = graph.expr_pool()->symbols();
  const bool any = std::any_of(symbols.begin(), symbols.end(),
                               [](const Symbol& symbol) { return symbol.origin == SymbolOrigin::kStepResult; });
  if (!any) return {};  // almost always
  Shape all = node.scalars;
  for (const std::vector<ValueId>* operands : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *operands) {
      if (id == kNone) continue;
      const Placement place = placement_of(graph, id);
      all.insert(all.end(), graph.value(id).dims.begin(), graph.value(id).dims.end());
      all.insert(all.end(), place.strides.begin(), place.strides.end());
      all.push_back(place.offset);
    }
  }
  return results_in(graph, all);
}

}  // namespace planwright::ir
