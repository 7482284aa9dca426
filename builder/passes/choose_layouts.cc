// Gives every value its physical order of axes, and adds a Copy where a kernel family wants another.
//
// Layouts flow forward. They begin row-major at the graph's inputs and channels-last at what convolves, pools or
// resizes, and pass unchanged through whatever takes any order, so a backbone stays channels-last from its first
// convolution to its head. A Transpose only renames the axes: in a model that was exported channels-last and transposes
// before every convolution, the transposes cost nothing. What an operator wants is in operand_rules.cc.
#include <algorithm>
#include <optional>
#include <set>

#include "builder/passes/copies.h"
#include "builder/passes/operand_rules.h"
#include "builder/passes/passes.h"
#include "builder/passes/strides.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Graph;
using ir::kNone;
using ir::Layout;
using ir::Node;
using ir::NodeId;
using ir::Value;
using ir::ValueId;

class LayoutPass {
 public:
  explicit LayoutPass(Graph& graph) : graph_(graph), copies_(graph), users_(graph) {}

  bool run() {
    const int32_t values = graph_.value_count();
    const std::vector<NodeId> order = graph_.order();  // Copies are added on the way
    for (const NodeId id : order) place(graph_.node(id));
    return changed_ || graph_.value_count() != values;
  }

 private:
  Layout layout_of(ValueId id) const { return graph_.value(id).layout; }

  void place(Node& node) {
    if (node.kind == OpKind::kCopy) return;  // its layout was the reason to make it
    satisfy_inputs(node);
    const Layout layout = result_layout(node);
    match_program_operands(node, layout);
    const int rank = graph_.value(node.outputs[0]).rank();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      set_output(node, i, graph_.value(node.outputs[i]).rank() == rank ? layout : Layout{});
    }
  }

  void satisfy_inputs(Node& node) {
    for (size_t i = 0; i < static_cast<size_t>(node.core_inputs); ++i) {
      if (node.inputs[i] == kNone) continue;
      const Value& value = graph_.value(node.inputs[i]);
      const Access access = input_access(graph_, node, i);
      if (allows(access, node, value.dims, dense_strides(value.dims, value.layout))) continue;
      node.inputs[i] = copies_.get(value.id, layout_for(access, node, value.rank()), node);
    }
    if (node.kind != OpKind::kReshape) return;
    const Value& from = graph_.value(node.inputs[0]);
    if (!reshaped(from.layout, from.dims, graph_.value(node.outputs[0]).dims)) {
      node.inputs[0] = copies_.get(from.id, {}, node);
    }
  }

  Layout result_layout(const Node& node) const {
    const Value& output = graph_.value(node.outputs[0]);
    const int rank = output.rank();
    switch (node.kind) {
      case OpKind::kPointwise: return pointwise_layout(node, output);
      case OpKind::kConcat: return concat_layout(node, output);
      case OpKind::kTranspose: return transposed(layout_of(node.inputs[0]), node.as<TransposeParams>().perm, rank);
      case OpKind::kReshape: {
        const Value& from = graph_.value(node.inputs[0]);
        return *reshaped(from.layout, from.dims, output.dims);
      }
      case OpKind::kExpand: return expand_layout(graph_.value(node.inputs[0]), rank);
      case OpKind::kMatMul:
      case OpKind::kBlockMatMul:
      case OpKind::kAttention: return order_wanted_by_transpose(output);
      default: break;
    }
    switch (result_order(node.kind)) {
      case ResultOrder::kRowMajor: return {};
      case ResultOrder::kAsAccess: return layout_for(output_access(graph_, node), node, rank);
      case ResultOrder::kAsInput: return layout_of(node.inputs[0]);
    }
    return {};
  }

  // The order of the operands that have the output's dims: the one most of them have, of the first among equals.
  Layout pointwise_layout(const Node& node, const Value& output) const {
    std::vector<Layout> votes;
    for (const ValueId id : node.inputs) {
      const Value& operand = graph_.value(id);
      if (!operand.is_constant() && operand.dims == output.dims) votes.push_back(operand.layout);
    }
    return most_frequent(votes, output);
  }

  // Joined in the inputs' order; but inputs that come from the caller are copied anyway, so then in what readers want.
  Layout concat_layout(const Node& node, const Value& output) const {
    std::vector<Layout> votes;
    for (const ValueId id : node.inputs) {
      if (graph_.value(id).producer != kNone && !reads_caller(id)) votes.push_back(layout_of(id));
    }
    const std::optional<Layout> wanted = order_wanted_by_readers(output);
    if (votes.empty()) return wanted.value_or(Layout{});
    const Layout joined = most_frequent(votes, output);
    return is_stack(node) && !wanted ? stacked(node, output, joined) : joined;
  }

  // Joined along an axis that each input has once.
  bool is_stack(const Node& node) const {
    const size_t axis = static_cast<size_t>(node.as<ConcatParams>().axis);
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return graph_.value(id).dims[axis] == Dim(1); });
  }

  // The new axis outermost: each input is then computed as one block, rather than interleaved with the others (pairs of
  // real and imaginary parts would be written in steps of two).
  static Layout stacked(const Node& node, const Value& output, const Layout& joined) {
    const uint8_t axis = static_cast<uint8_t>(node.as<ConcatParams>().axis);
    std::vector<uint8_t> order = order_of(joined, output.rank());
    order.erase(std::find(order.begin(), order.end(), axis));
    order.insert(order.begin(), axis);
    return layout_of_order(std::move(order));
  }

  // Whether the value is a graph input, or only movement away from one.
  bool reads_caller(ValueId id) const {
    while (graph_.value(id).producer != kNone) {
      const Node& producer = graph_.node(graph_.value(id).producer);
      if (!is_movement(producer)) return false;
      id = producer.inputs[0];
    }
    return !graph_.value(id).is_constant();
  }

  // What the first reader that minds wants, seen through movement; std::nullopt where none does.
  std::optional<Layout> order_wanted_by_readers(const Value& value) const {
    for (const NodeId user : users_.of(value.id)) {
      const Node& node = graph_.node(user);
      if (is_movement(node)) {
        if (std::optional<Layout> wanted = order_wanted_behind(node, value)) return wanted;
        continue;
      }
      for (size_t i = 0; i < static_cast<size_t>(node.core_inputs); ++i) {
        const Access access = node.inputs[i] == value.id ? input_access(graph_, node, i) : Access::kAny;
        if (access != Access::kAny) return layout_for(access, node, value.rank());
      }
    }
    return std::nullopt;
  }

  std::optional<Layout> order_wanted_behind(const Node& movement, const Value& input) const {
    const Value& output = graph_.value(movement.outputs[0]);
    const std::optional<Layout> wanted = order_wanted_by_readers(output);
    if (!wanted || movement.kind == OpKind::kExpand) return std::nullopt;
    if (movement.kind == OpKind::kSlice) return wanted;
    if (movement.kind == OpKind::kReshape) return reshaped(*wanted, output.dims, input.dims);
    const int32_t* perm = movement.as<TransposeParams>().perm;
    int32_t inverse[kMaxRank];
    for (int axis = 0; axis < input.rank(); ++axis) inverse[perm[axis]] = axis;
    return transposed(*wanted, inverse, input.rank());
  }

  static Layout most_frequent(const std::vector<Layout>& votes, const Value& output) {
    Layout best;
    ptrdiff_t most = 0;
    for (const Layout& vote : votes) {
      const ptrdiff_t count = std::count_if(
          votes.begin(), votes.end(), [&](const Layout& other) { return same_placing(output.dims, vote, other); });
      if (count > most) best = vote, most = count;
    }
    return best;
  }

  // New axes stand outermost.
  static Layout expand_layout(const Value& from, int rank) {
    const int added = rank - from.rank();
    std::vector<uint8_t> order;
    for (int axis = 0; axis < added; ++axis) order.push_back(static_cast<uint8_t>(axis));
    for (const uint8_t axis : order_of(from.layout, from.rank())) order.push_back(static_cast<uint8_t>(axis + added));
    return layout_of_order(std::move(order));
  }

  // Products of matrices write rows wherever they are told. Where the only reader is a Transpose that keeps the last
  // axis (attention's heads going back to their token), rows are written as it wants them.
  Layout order_wanted_by_transpose(const Value& output) const {
    const std::vector<NodeId>& users = users_.of(output.id);
    if (users.size() != 1 || graph_.is_output(output.id)) return {};
    if (graph_.node(users[0]).kind != OpKind::kTranspose) return {};
    const int32_t* perm = graph_.node(users[0]).as<TransposeParams>().perm;
    const int rank = output.rank();
    if (perm[rank - 1] != rank - 1) return {};
    return layout_of_order(std::vector<uint8_t>(perm, perm + rank));
  }

  // Operands of the result's dims are read in runs, as it is written; constants that broadcast are stored in its order.
  void match_program_operands(Node& node, const Layout& layout) {
    const Value& output = graph_.value(node.outputs[0]);
    for (size_t i = static_cast<size_t>(node.core_inputs); i < node.inputs.size(); ++i) {
      const Value& operand = graph_.value(node.inputs[i]);
      if (operand.dims != output.dims && !operand.is_constant()) continue;
      const Layout wanted = suffix_of(layout, output.rank(), operand.rank());
      if (same_innermost(operand.dims, operand.layout, wanted)) continue;
      node.inputs[i] = copies_.get(operand.id, wanted, node);
    }
  }

  // The order of the last `kept` axes.
  static Layout suffix_of(const Layout& layout, int rank, int kept) {
    std::vector<uint8_t> order;
    for (const uint8_t axis : order_of(layout, rank)) {
      if (axis >= rank - kept) order.push_back(static_cast<uint8_t>(axis - (rank - kept)));
    }
    return layout_of_order(std::move(order));
  }

  // The caller's buffers are row-major: a graph output of another order is computed beside it and copied.
  void set_output(Node& node, size_t index, const Layout& layout) {
    Value& output = graph_.value(node.outputs[index]);
    if (!graph_.is_output(output.id) || same_placing(output.dims, layout, {})) {
      changed_ |= output.layout != layout;
      output.layout = layout;
      return;
    }
    // The views pass copies what movement leaves elsewhere; pointwise runs may as well be written where they belong.
    if (is_movement(node) || (node.kind == OpKind::kPointwise && same_innermost(output.dims, layout, {}))) return;
    Value& computed = graph_.add_value(output.name, output.dtype, output.dims);
    computed.layout = layout;
    node.outputs[index] = computed.id;
    computed.producer = node.id;
    redirect_readers(output.id, computed.id);
    copy_to(computed.id, output, node.id);
  }

  void redirect_readers(ValueId from, ValueId to) {
    for (const NodeId user : users_.of(from)) {
      std::vector<ValueId>& inputs = graph_.node(user).inputs;
      std::replace(inputs.begin(), inputs.end(), from, to);
    }
  }

  void copy_to(ValueId from, Value& to, NodeId after) {
    const std::vector<NodeId>& order = graph_.order();
    const auto next = std::next(std::find(order.begin(), order.end(), after));
    Node& copy = graph_.add_node(OpKind::kCopy, NoParams{}, {from}, {to.id}, next == order.end() ? kNone : *next);
    copy.core_inputs = 1;
    copy.name = "copy of " + to.name;
  }

  Graph& graph_;
  CopyCache copies_;
  ir::Users users_;
  bool changed_ = false;
};

// Bindings that no step writes of its own accord: an input or a constant given back, one value given twice.
bool copy_shared_outputs(Graph& graph) {
  std::set<ValueId> seen;
  bool changed = false;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs[i]);
    if (value.producer != kNone && seen.insert(value.id).second) continue;
    graph.outputs[i] = add_copy(graph, value.id, {}, kNone).id;
    changed = true;
  }
  return changed;
}

}  // namespace

bool choose_layouts(Graph& graph) {
  const bool copied = copy_shared_outputs(graph);
  return LayoutPass(graph).run() || copied;
}

}  // namespace planwright::builder
