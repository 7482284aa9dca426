#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

template <typename T>
void append(const T& value, std::string* key) {
  static_assert(std::is_trivially_copyable_v<T>);
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Dims as they compare: equal expressions are one node of the pool, within which addresses do not change.
void append(const ir::Shape& shape, std::string* key) {
  append(shape.size(), key);
  for (ir::Dim dim : shape) {
    append(dim.node(), key);
    append(dim.is_constant() ? dim.constant() : 0, key);
  }
}

std::string bytes_as_text(const ir::Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Equal keys: the same operator with the same attributes on the same inputs.
std::string key_of(const ir::Graph& graph, const ir::Node& node) {
  std::string key;
  append(node.kind, &key);
  append(node.core_inputs, &key);
  append(node.inputs.size(), &key);
  for (ir::ValueId id : node.inputs) append(id, &key);
  append(node.scalars, &key);
  append(node.program.size(), &key);
  for (const PwInstr& instr : node.program) append(instr, &key);
  append(node.outputs.size(), &key);
  for (ir::ValueId id : node.outputs) {
    append(id == ir::kNone, &key);
    if (id == ir::kNone) continue;
    append(graph.value(id).dtype, &key);
    append(graph.value(id).dims, &key);
  }
  if (node.kind == OpKind::kCustom) append(node.as<ir::CustomParams>().op, &key);
  return key + bytes_as_text(ir::to_bytes(node.params));
}

// Constants with the same type, dims and elements become one. Ordered by size first, so that large ones are compared
// only with their like.
bool share_constants(ir::Graph& graph) {
  struct Less {
    const ir::Graph& graph;
    bool operator()(ir::ValueId a, ir::ValueId b) const {
      const ir::Value &x = graph.value(a), &y = graph.value(b);
      if (x.dtype != y.dtype) return x.dtype < y.dtype;
      if (x.constant->size() != y.constant->size()) return x.constant->size() < y.constant->size();
      if (x.rank() != y.rank()) return x.rank() < y.rank();
      for (size_t i = 0; i < x.dims.size(); ++i) {
        if (!(x.dims[i] == y.dims[i])) return x.dims[i].constant() < y.dims[i].constant();
      }
      if (x.constant == y.constant || x.constant->empty()) return false;
      return std::memcmp(x.constant->data(), y.constant->data(), x.constant->size()) < 0;
    }
  };
  std::map<ir::ValueId, ir::ValueId, Less> first(Less{graph});
  std::vector<ir::ValueId> representative(static_cast<size_t>(graph.value_count()), ir::kNone);
  bool changed = false;
  for (ir::NodeId id : graph.order()) {
    for (ir::ValueId& input : graph.node(id).inputs) {
      if (input == ir::kNone || !graph.value(input).is_constant()) continue;
      ir::ValueId& known = representative[static_cast<size_t>(input)];
      if (known == ir::kNone) known = first.emplace(input, input).first->second;
      if (known == input) continue;
      input = known;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool share_subexpressions(ir::Graph& graph) {
  bool changed = share_constants(graph);
  std::map<std::string, ir::NodeId> first;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (is_control(node.kind)) continue;             // its bodies would have to be compared too
    if (node.kind == OpKind::kReadValues) continue;  // symbols name its output
    const auto [at, is_new] = first.emplace(key_of(graph, node), id);
    if (is_new) continue;
    ir::Node& earlier = graph.node(at->second);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::kNone) graph.replace_uses(node.outputs[i], earlier.outputs[i]);
    }
    take_names(earlier, node);
    graph.erase_node(id);
    changed = true;
  }
  return changed;
}

}  // namespace planwright::builder
