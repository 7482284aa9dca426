// Lets movement be a matter of strides: sets Value::view, and adds a Copy where elements must really move.
//
// First, against the order of execution, results that something later collects are placed where it collects them: the
// inputs of a Concat in their slots of its output, what a Reshape or Transpose turns into a graph output in the
// caller's buffer, what a Loop's first iteration begins with in the place of the carried value. Then, in order, the
// output of every Reshape, Transpose, Slice and Expand becomes a view of its input. The nodes stay in the graph, so
// that it still says what is computed; those whose operands share a storage move nothing and become no step
// (builder/storage.h).
#include <algorithm>
#include <optional>

#include "builder/passes/copies.h"
#include "builder/passes/operand_rules.h"
#include "builder/passes/passes.h"
#include "builder/passes/strides.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::Placement;
using ir::Shape;
using ir::Value;
using ir::ValueId;

// Where a movement's output lies if its input lies at `from`; std::nullopt where strides cannot say it.
std::optional<Placement> moved(const Node& node, const Shape& dims, const Placement& from, const Shape& new_dims) {
  Placement to{from.storage, from.offset, {}};
  switch (node.kind) {
    case OpKind::kReshape: {
      std::optional<Shape> strides = reshape_strides(dims, from.strides, new_dims);
      if (!strides) return std::nullopt;
      to.strides = std::move(*strides);
      return to;
    }
    case OpKind::kTranspose: {
      const int32_t* perm = node.as<TransposeParams>().perm;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        to.strides.push_back(from.strides[static_cast<size_t>(perm[axis])]);
      }
      return to;
    }
    case OpKind::kSlice:
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        to.offset = to.offset + node.scalars[axis] * from.strides[axis];
        to.strides.push_back(from.strides[axis] * node.scalars[dims.size() + axis]);
      }
      return to;
    case OpKind::kExpand: {
      const size_t added = new_dims.size() - dims.size();
      to.strides.assign(added, Dim(0));
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const bool is_kept = proven_equal(dims[axis], new_dims[axis + added]);
        if (!is_kept && dims[axis] != Dim(1)) return std::nullopt;
        to.strides.push_back(is_kept ? from.strides[axis] : Dim(0));
      }
      return to;
    }
    default: return std::nullopt;
  }
}

// Where a Reshape's or Transpose's input must lie so that its output lies at `to`; std::nullopt as above.
std::optional<Placement> moved_back(const Node& node, const Shape& dims, const Placement& to, const Shape& new_dims) {
  Placement from{to.storage, to.offset, {}};
  if (node.kind == OpKind::kReshape) {
    std::optional<Shape> strides = reshape_strides(new_dims, to.strides, dims);
    if (!strides) return std::nullopt;
    from.strides = std::move(*strides);
    return from;
  }
  if (node.kind != OpKind::kTranspose) return std::nullopt;
  from.strides.resize(dims.size());
  const int32_t* perm = node.as<TransposeParams>().perm;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    from.strides[static_cast<size_t>(perm[axis])] = to.strides[axis];
  }
  return from;
}

bool same_strides(const Shape& dims, const Shape& a, const Shape& b) {
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != Dim(1) && a[axis] != b[axis]) return false;
  }
  return true;
}

class ViewsPass {
 public:
  explicit ViewsPass(Graph& graph) : graph_(graph), copies_(graph), users_(graph) {}

  bool run() {
    std::vector<NodeId> order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) collect(graph_.node(*id));
    order = graph_.order();  // with the copies into slots
    for (const NodeId id : order) {
      Node& node = graph_.node(id);
      if (is_movement(node)) {
        view_input(node);
      } else if (node.kind != OpKind::kConcat) {
        satisfy_inputs(node);
      }
    }
    return changed_;
  }

 private:
  // ---- Against the order: into what is collected

  void collect(Node& node) {
    if (node.kind == OpKind::kConcat) return fill_slots(node);
    if (node.kind == OpKind::kLoop) return fill_states(node);
    if (node.kind != OpKind::kReshape && node.kind != OpKind::kTranspose) return;
    const Value& output = graph_.value(node.outputs[0]);
    if (!output.view && !graph_.is_output(output.id)) return;
    Value& input = graph_.value(node.inputs[0]);
    const std::optional<Placement> place = moved_back(node, input.dims, placement_of(graph_, output.id), output.dims);
    if (place && may_lie_at(input, *place)) set_view(input, *place);
  }

  void fill_slots(Node& node) {
    const Value& output = graph_.value(node.outputs[0]);
    const Placement whole = placement_of(graph_, output.id);
    const size_t axis = static_cast<size_t>(node.as<ConcatParams>().axis);
    Placement slot = whole;
    for (ValueId& id : node.inputs) {
      Value* input = &graph_.value(id);
      const bool in_order = same_placing(input->dims, input->layout, output.layout);
      if (!in_order || !may_lie_at(*input, slot)) {
        input = &add_copy(graph_, id, output.layout, node.id);
        id = input->id;
      }
      set_view(*input, slot);
      slot.offset = slot.offset + input->dims[axis] * slot.strides[axis];
    }
  }

  // A carried value has one place, that of the Loop's output: what the first iteration begins with is put there.
  void fill_states(Node& node) {
    const auto carried = static_cast<size_t>(node.as<ir::LoopParams>().carried);
    for (size_t i = 1; i <= carried; ++i) {
      const Placement place = placement_of(graph_, node.outputs[i]);
      Value* first = &graph_.value(node.inputs[i]);
      if (!is_for(*first, node) || !may_lie_at(*first, place)) {
        first = &add_copy(graph_, first->id, {}, node.id);
        node.inputs[i] = first->id;
      }
      set_view(*first, place);
    }
  }

  // Whether a value is computed for one operand of `node` alone, which may overwrite it. What only moves is not: what
  // is moved would be placed with it, and has readers of its own.
  bool is_for(const Value& value, const Node& node) const {
    if (static_cast<size_t>(value.id) >= users_count_ || value.producer == kNone) return false;
    const Node& producer = graph_.node(value.producer);
    return !is_movement(producer) && producer.kind != OpKind::kConcat && users_.of(value.id).size() == 1 &&
           std::count(node.inputs.begin(), node.inputs.end(), value.id) == 1;
  }

  // Whether a value can be computed into another's storage: a step makes it, nothing else has placed it, and its maker
  // and all its readers take those strides.
  bool may_lie_at(const Value& value, const Placement& place) const {
    if (value.producer == kNone || value.view || graph_.is_output(value.id)) return false;
    const Node& producer = graph_.node(value.producer);
    // What only looks at another value would have to be copied: the copy may as well be the one into the slot.
    if (producer.kind == OpKind::kSlice || producer.kind == OpKind::kExpand) return false;
    if (!is_movement(producer) && producer.kind != OpKind::kConcat &&
        !allows(output_access(graph_, producer), producer, value.dims, place.strides)) {
      return false;
    }
    return readers_accept(value, place);
  }

  bool readers_accept(const Value& value, const Placement& place) const {
    if (static_cast<size_t>(value.id) >= users_count_) return true;  // made by this pass for one reader
    for (const NodeId id : users_.of(value.id)) {
      const Node& user = graph_.node(id);
      if (is_movement(user)) {
        const Value& output = graph_.value(user.outputs[0]);
        const std::optional<Placement> seen = moved(user, value.dims, place, output.dims);
        if (!seen || !readers_accept(output, *seen)) return false;
        continue;
      }
      for (size_t i = 0; i < user.inputs.size(); ++i) {
        if (user.inputs[i] != value.id) continue;
        if (!allows(input_access(graph_, user, i), user, value.dims, place.strides)) return false;
      }
    }
    return true;
  }

  // ---- In order: views of what is there

  void view_input(Node& node) {
    Value& output = graph_.value(node.outputs[0]);
    std::optional<Placement> place = place_of_output(node);
    if (!place && node.kind == OpKind::kReshape) {
      node.inputs[0] = copies_.get(node.inputs[0], {}, node);
      changed_ = true;
      place = place_of_output(node);
    }
    if (!place) return;  // an Expand of dims that are not known to be 1: it stays a step
    if (!output.view && !graph_.is_output(output.id)) return set_view(output, *place);
    if (lies_at(output, *place)) return;
    // The output has its place, the input lies elsewhere.
    Value& seen = graph_.add_value(output.name, output.dtype, output.dims);
    seen.layout = output.layout;
    seen.producer = node.id;
    node.outputs[0] = seen.id;
    set_view(seen, *place);
    copy_after(node, seen.id, output);
  }

  std::optional<Placement> place_of_output(const Node& node) const {
    const Value& input = graph_.value(node.inputs[0]);
    return moved(node, input.dims, placement_of(graph_, input.id), graph_.value(node.outputs[0]).dims);
  }

  bool lies_at(const Value& value, const Placement& place) const {
    const Placement own = placement_of(graph_, value.id);
    return own.storage == place.storage && own.offset == place.offset &&
           same_strides(value.dims, own.strides, place.strides);
  }

  void satisfy_inputs(Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const Value& value = graph_.value(node.inputs[i]);
      const Access access = input_access(graph_, node, i);
      if (!value.view || allows(access, node, value.dims, value.view->strides)) continue;
      node.inputs[i] = copies_.get(value.id, layout_for(access, node, value.rank()), node);
      changed_ = true;
    }
  }

  void copy_after(const Node& node, ValueId from, Value& to) {
    const std::vector<NodeId>& order = graph_.order();
    const auto next = std::next(std::find(order.begin(), order.end(), node.id));
    Node& copy = graph_.add_node(OpKind::kCopy, NoParams{}, {from}, {to.id}, next == order.end() ? kNone : *next);
    copy.core_inputs = 1;
    copy.name = "copy of " + to.name;
  }

  void set_view(Value& value, const Placement& place) {
    value.view = ir::View{place.storage, place.offset, place.strides};
    changed_ = true;
  }

  Graph& graph_;
  CopyCache copies_;
  ir::Users users_;
  size_t users_count_ = static_cast<size_t>(graph_.value_count());
  bool changed_ = false;
};

}  // namespace

bool make_views(Graph& graph) { return ViewsPass(graph).run(); }

}  // namespace planwright::builder
