#include "builder/ir/results.h"

#include <algorithm>

namespace planwright::ir {

namespace {

void append(const Shape& dims, Shape* all) { all->insert(all->end(), dims.begin(), dims.end()); }

// Every expression that running the node needs, those of its bodies' nodes among them.
void append_expressions(const Graph& graph, const Node& node, Shape* all) {
  append(node.scalars, all);
  for (const std::vector<ValueId>* operands : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *operands) {
      if (id == kNone) continue;
      const Placement place = placement_of(graph, id);
      append(graph.value(id).dims, all);
      append(place.strides, all);
      all->push_back(place.offset);
    }
  }
  for (const auto& body : node.bodies) {
    for (const NodeId id : body->order()) append_expressions(*body, body->node(id), all);
  }
}

}  // namespace

std::vector<ValueId> results_in(const Graph& graph, const Shape& dims) {
  std::vector<ValueId> values;
  for (const int index : symbols_of(dims)) {
    const Symbol& symbol = graph.expr_pool()->symbols()[static_cast<size_t>(index)];
    // A loop's iteration is no value's, and what is around a body is known before it begins.
    if (symbol.origin != SymbolOrigin::kStepResult || symbol.source == kNone || symbol.graph != graph.number()) continue;
    if (std::find(values.begin(), values.end(), symbol.source) == values.end()) values.push_back(symbol.source);
  }
  return values;
}

std::vector<ValueId> results_read_by(const Graph& graph, const Node& node) {
  const std::vector<Symbol>& symbols = graph.expr_pool()->symbols();
  const bool any = std::any_of(symbols.begin(), symbols.end(), [&](const Symbol& symbol) {
    return symbol.origin == SymbolOrigin::kStepResult && symbol.source != kNone && symbol.graph == graph.number();
  });
  if (!any) return {};  // almost always
  Shape all;
  append_expressions(graph, node, &all);
  return results_in(graph, all);
}

}  // namespace planwright::ir
