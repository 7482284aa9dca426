#include "builder/ir/graph.h"

#include <algorithm>
#include <stdexcept>

namespace planwright::ir {
namespace {

int32_t own_inputs(OpKind kind, size_t inputs) {
  if (kind == OpKind::kPointwise) return 0;
  const auto count = static_cast<int32_t>(inputs);
  return takes_epilogue(kind) ? std::min(count, arity_of(kind).min_inputs) : count;
}

}  // namespace

Graph::Graph() : Graph(std::make_shared<ExprPool>()) {}

std::string Graph::take_name(const std::string& wanted) {
  std::string unique = wanted;
  for (int copy = next_copy_[wanted]; !names_.insert(unique).second;) {
    unique = wanted + "#" + std::to_string(copy = std::max(copy + 1, 2));
    next_copy_[wanted] = copy;
  }
  return unique;
}

Graph::Graph(const Graph& other)
    : name(other.name),
      inputs(other.inputs),
      outputs(other.outputs),
      output_names(other.output_names),
      guards(other.guards),
      warnings(other.warnings),
      exprs_(other.exprs_),
      number_(other.number_),
      order_(other.order_),
      names_(other.names_),
      next_copy_(other.next_copy_) {
  for (const auto& value : other.values_) values_.push_back(std::make_unique<Value>(*value));
  for (const auto& node : other.nodes_) {
    nodes_.push_back(node == nullptr ? nullptr : std::make_unique<Node>(*node));
    if (node == nullptr) continue;
    for (std::shared_ptr<Graph>& body : nodes_.back()->bodies) body = std::make_shared<Graph>(body->copy());
  }
}

Graph Graph::copy() const { return *this; }

Value& Graph::add_value(std::string value_name, DType dtype, Shape dims) {
  auto value = std::make_unique<Value>();
  value->id = static_cast<ValueId>(values_.size());
  value->name = take_name(value_name);
  value->dtype = dtype;
  value->dims = std::move(dims);
  values_.push_back(std::move(value));
  return *values_.back();
}

void Graph::rename_value(ValueId id, const std::string& wanted) {
  names_.erase(value(id).name);
  value(id).name = take_name(wanted);
}

Value& Graph::add_constant(std::string value_name, DType dtype, const std::vector<int64_t>& dims, Bytes data) {
  size_t bytes = size_of(dtype);
  for (int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  if (data.size() != bytes) {
    throw std::logic_error("constant " + value_name + " has " + std::to_string(data.size()) + " bytes, its dims need " +
                           std::to_string(bytes));
  }
  Value& value = add_value(std::move(value_name), dtype, Shape(dims.begin(), dims.end()));
  value.constant = std::make_shared<const Bytes>(std::move(data));
  return value;
}

Node& Graph::add_node(OpKind kind, Params params, std::vector<ValueId> reads, std::vector<ValueId> writes,
                      NodeId before) {
  const auto id = static_cast<NodeId>(nodes_.size());
  auto node = std::make_unique<Node>();
  node->id = id;
  node->kind = kind;
  node->params = std::move(params);
  node->core_inputs = own_inputs(kind, reads.size());
  node->inputs = std::move(reads);
  node->outputs = std::move(writes);
  for (ValueId output : node->outputs) {
    if (output != kNone) value(output).producer = id;
  }
  nodes_.push_back(std::move(node));
  order_.insert(before == kNone ? order_.end() : std::find(order_.begin(), order_.end(), before), id);
  return *nodes_.back();
}

void Graph::erase_node(NodeId id) {
  for (ValueId output : node(id).outputs) {
    if (output != kNone && value(output).producer == id) value(output).producer = kNone;
  }
  std::erase(order_, id);
  nodes_[static_cast<size_t>(id)] = nullptr;
}

std::vector<NodeId> Graph::users(ValueId id) const {
  std::vector<NodeId> users;
  for (NodeId user : order_) {
    const std::vector<ValueId>& reads = node(user).inputs;
    if (std::find(reads.begin(), reads.end(), id) != reads.end()) users.push_back(user);
  }
  return users;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs.begin(), outputs.end(), id) != outputs.end(); }

void Graph::replace_uses(ValueId from, ValueId to) {
  for (NodeId id : order_) std::replace(node(id).inputs.begin(), node(id).inputs.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

Users::Users(const Graph& graph) : users_(static_cast<size_t>(graph.value_count())) {
  for (NodeId id : graph.order()) {
    for (ValueId input : graph.node(id).inputs) {
      if (input == kNone) continue;
      std::vector<NodeId>& users = users_[static_cast<size_t>(input)];
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
}

Shape dense_strides(const Shape& dims, const Layout& layout) {
  const size_t rank = dims.size();
  if (layout.block > 1) throw std::logic_error("a blocked layout has no strides per axis");
  Shape strides(rank, Dim(1));
  Dim stride = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t axis = layout.order.empty() ? i : layout.order[i];
    strides[axis] = stride;
    stride = stride * dims[axis];
  }
  return strides;
}

Placement placement_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.view) return {value.view->base, value.view->offset, value.view->strides};
  return {id, 0, dense_strides(value.dims, value.layout)};
}

}  // namespace planwright::ir
