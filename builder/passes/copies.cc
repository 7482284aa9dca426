#include "builder/passes/copies.h"

namespace planwright::builder {

ir::Value& add_copy(ir::Graph& graph, ir::ValueId value, const ir::Layout& layout, ir::NodeId before) {
  const ir::Value& from = graph.value(value);
  ir::Value& to = graph.add_value(from.name, from.dtype, from.dims);
  to.layout = layout;
  ir::Node& copy = graph.add_node(OpKind::kCopy, NoParams{}, {value}, {to.id}, before);
  copy.core_inputs = 1;
  copy.name = "copy of " + from.name;
  return to;
}

ir::ValueId CopyCache::get(ir::ValueId value, const ir::Layout& layout, const ir::Node& user) {
  const auto [entry, is_new] = copies_.try_emplace({value, layout.order}, ir::kNone);
  if (!is_new) return entry->second;
  const ir::Value& from = graph_.value(value);
  if (from.is_constant()) {
    ir::Value& to = graph_.add_value(from.name, from.dtype, from.dims);
    to.constant = from.constant;
    to.elements = from.elements;
    to.layout = layout;
    entry->second = to.id;
  } else {
    entry->second = add_copy(graph_, value, layout, user.id).id;
  }
  return entry->second;
}

}  // namespace planwright::builder
