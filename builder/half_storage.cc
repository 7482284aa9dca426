#include "builder/half_storage.h"

#include <algorithm>

#include "builder/storage.h"
#include "tactics/kernels/params.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

// Where a contraction's columns lie.
size_t column_axis(const Node& node, const Value& output) {
  const bool is_product = node.kind == OpKind::kMatMul || node.kind == OpKind::kBlockMatMul;
  return is_product ? output.dims.size() - 1 : 1;
}

// A maximum is one of its operands, which bf16 holds already.
bool is_max_pool(const Node& node) {
  return node.kind == OpKind::kPool && node.as<PoolParams>().kind == PoolKind::kMax &&
         std::count(node.outputs.begin(), node.outputs.end(), kNone) + 1 == static_cast<ptrdiff_t>(node.outputs.size());
}

// Finds the storages all of whose writers and readers know bf16.
class Finder {
 public:
  Finder(const Graph& graph, const std::set<NodeId>& multiplying) : graph_(graph), multiplying_(multiplying) {}

  std::set<ValueId> find() {
    std::set<ValueId> refused;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNone) sort(node.inputs[i], reads_halves(node, i), &refused);
      }
      for (const ValueId output : node.outputs) {
        if (output != kNone) sort(output, writes_halves(node), &refused);
      }
    }
    for (const ValueId storage : refused) found_.erase(storage);
    // Both ends of a pool are one type.
    const size_t most = graph_.order().size();
    for (size_t round = 0; round < most && !unify_pools(); ++round) continue;
    return std::move(found_);
  }

 private:
  ValueId storage_of(ValueId id) const { return placement_of(graph_, id).storage; }

  void sort(ValueId id, bool may_be_half, std::set<ValueId>* refused) {
    const ValueId storage = storage_of(id);
    const bool is_float = graph_.value(id).dtype == DType::kF32 && graph_.value(storage).dtype == DType::kF32;
    (may_be_half && is_float && is_in_arena(graph_, storage) ? found_ : *refused).insert(storage);
  }

  bool writes_halves(const Node& node) const {
    return multiplying_.contains(node.id) || is_max_pool(node) || moves_nothing(graph_, node);
  }

  bool reads_halves(const Node& node, size_t input) const {
    if (is_max_pool(node) || moves_nothing(graph_, node)) return true;
    if (!multiplying_.contains(node.id)) return false;
    if (input == 0) return true;
    if (input < static_cast<size_t>(node.core_inputs)) return false;
    // A residual: rows without gaps.
    const Value &operand = graph_.value(node.inputs[input]), &output = graph_.value(node.outputs[0]);
    return operand.dims == output.dims && placement_of(graph_, operand.id).strides[column_axis(node, output)] == Dim(1);
  }

  // Whether there was nothing to do.
  bool unify_pools() {
    bool is_stable = true;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (!is_max_pool(node)) continue;
      const ValueId from = storage_of(node.inputs[0]), to = storage_of(node.outputs[0]);
      if (found_.contains(from) == found_.contains(to)) continue;
      found_.erase(from);
      found_.erase(to);
      is_stable = false;
    }
    return is_stable;
  }

  const Graph& graph_;
  const std::set<NodeId>& multiplying_;
  std::set<ValueId> found_;
};

// acc, stored.
std::vector<PwInstr> storing_program() {
  PwInstr acc, store;
  acc.op = PwOp::kAcc;
  store.op = PwOp::kStore;
  return {acc, store};
}

}  // namespace

HalfStorage::HalfStorage(Graph& graph, const std::set<NodeId>& multiplying) : graph_(graph) {
  const std::set<ValueId> storages = Finder(graph, multiplying).find();
  std::set<ValueId> values;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const std::vector<ValueId>* operands : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *operands) {
        if (value == kNone || !storages.contains(placement_of(graph, value).storage)) continue;
        values.insert(value);
        values.insert(placement_of(graph, value).storage);
      }
    }
  }
  values_.assign(values.begin(), values.end());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    // Without a program the output would be what the input is.
    if (multiplying.contains(id) && node.program.empty() &&
        values.contains(node.inputs[0]) != values.contains(node.outputs[0])) {
      converting_.push_back(id);
    }
  }
}

void HalfStorage::apply() {
  for (const ValueId value : values_) graph_.value(value).dtype = DType::kBF16;
  for (const NodeId node : converting_) graph_.node(node).program = storing_program();
}

void HalfStorage::undo() {
  for (const ValueId value : values_) graph_.value(value).dtype = DType::kF32;
  for (const NodeId node : converting_) graph_.node(node).program.clear();
}

}  // namespace planwright::builder
