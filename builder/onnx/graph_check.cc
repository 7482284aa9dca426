#include "builder/onnx/graph_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

using Names = std::unordered_set<std::string>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

constexpr int kMaxGraphDepth = 16;

[[noreturn]] void invalid(const std::string& message) { throw Error(StatusCode::kInvalid, message); }

std::string title(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return fmt::format("{} ({})", name, node.op_type());
}

// Calls `visit` with every graph among the node's attributes.
template <typename Node, typename Visit>
void for_each_graph(Node& node, const Visit& visit) {
  for (int i = 0; i < node.attribute_size(); ++i) {
    if constexpr (std::is_const_v<Node>) {
      if (node.attribute(i).has_g()) visit(node.attribute(i).g());
      for (const onnx::GraphProto& graph : node.attribute(i).graphs()) visit(graph);
    } else {
      if (node.attribute(i).has_g()) visit(*node.mutable_attribute(i)->mutable_g());
      for (onnx::GraphProto& graph : *node.mutable_attribute(i)->mutable_graphs()) visit(graph);
    }
  }
}

// Names that a node reads, those that graphs among its attributes take from around them included.
void add_reads(const onnx::NodeProto& node, Names& reads) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) reads.insert(name);
  }
  for_each_graph(node, [&](const onnx::GraphProto& graph) {
    Names inner;
    for (const onnx::NodeProto& child : graph.node()) add_reads(child, inner);
    for (const onnx::ValueInfoProto& output : graph.output()) inner.insert(output.name());
    for (const onnx::ValueInfoProto& input : graph.input()) inner.erase(input.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) inner.erase(tensor.name());
    for (const onnx::NodeProto& child : graph.node()) {
      for (const std::string& output : child.output()) inner.erase(output);
    }
    reads.insert(inner.begin(), inner.end());
  });
}

std::vector<std::string> reads_of(const onnx::NodeProto& node) {
  Names reads;
  add_reads(node, reads);
  std::vector<std::string> sorted(reads.begin(), reads.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

class NodeSorter {
 public:
  // `outside`: names defined before the first node.
  NodeSorter(Nodes& nodes, const Names& outside) : nodes_(nodes) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output()) {
        if (output.empty()) continue;
        if (outside.contains(output) || !makers_.emplace(output, i).second) {
          invalid(fmt::format("{}: its output '{}' has the name of another value", title(nodes[i]), output));
        }
      }
    }
    users_.resize(static_cast<size_t>(nodes.size()));
    waits_.resize(static_cast<size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : reads_of(nodes[i])) {
        if (const auto maker = makers_.find(name); maker != makers_.end()) {
          users_[static_cast<size_t>(maker->second)].push_back(i);
          waits_[static_cast<size_t>(i)].push_back(maker->second);
        } else if (!outside.contains(name)) {
          invalid(fmt::format("{}: nothing makes its input '{}'", title(nodes[i]), name));
        }
      }
    }
  }

  // Kahn's algorithm, the earliest ready node first, so that a sorted list stays as it is.
  void sort() {
    std::vector<size_t> missing;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < waits_.size(); ++i) {
      missing.push_back(waits_[i].size());
      if (waits_[i].empty()) ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int next = ready.top();
      ready.pop();
      order.push_back(next);
      for (const int user : users_[static_cast<size_t>(next)]) {
        if (--missing[static_cast<size_t>(user)] == 0) ready.push(user);
      }
    }
    if (order.size() < waits_.size()) fail_with_cycle(missing);
    if (std::is_sorted(order.begin(), order.end())) return;
    Nodes sorted;
    for (const int index : order) *sorted.Add() = std::move(nodes_[index]);
    nodes_ = std::move(sorted);
  }

 private:
  [[noreturn]] void fail_with_cycle(const std::vector<size_t>& missing) const {
    const auto stuck = [&](int node) { return missing[static_cast<size_t>(node)] > 0; };
    int at = 0;
    while (!stuck(at)) ++at;
    // Going from a stuck node to one that it waits for must come round.
    std::vector<int> path;
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      const std::vector<int>& waits = waits_[static_cast<size_t>(at)];
      at = *std::find_if(waits.begin(), waits.end(), stuck);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    std::string cycle = title(nodes_[at]);
    for (auto node = path.rbegin(); node != path.rend(); ++node) cycle += " -> " + title(nodes_[*node]);
    invalid(fmt::format("the nodes depend on each other in a cycle: {}", cycle));
  }

  Nodes& nodes_;
  std::unordered_map<std::string, int> makers_;
  std::vector<std::vector<int>> users_, waits_;
};

void sort_bodies(Nodes& nodes, Names& outside, int depth);

void sort_graph(onnx::GraphProto& graph, const Names& outer, int depth) {
  if (depth > kMaxGraphDepth) {
    throw Error(StatusCode::kUnsupported, fmt::format("graph '{}': If, Loop and Scan are nested more than {} deep",
                                                      graph.name(), kMaxGraphDepth));
  }
  Names own;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (!own.insert(tensor.name()).second) invalid(fmt::format("two initializers are named '{}'", tensor.name()));
  }
  Names inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!inputs.insert(input.name()).second) invalid(fmt::format("two inputs are named '{}'", input.name()));
  }
  own.insert(inputs.begin(), inputs.end());
  Names outside = outer;
  outside.insert(own.begin(), own.end());
  NodeSorter(*graph.mutable_node(), outside).sort();
  sort_bodies(*graph.mutable_node(), outside, depth);
  Names outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!outputs.insert(output.name()).second) invalid(fmt::format("two outputs are named '{}'", output.name()));
    if (!outside.contains(output.name())) invalid(fmt::format("nothing makes output '{}'", output.name()));
  }
}

// What is made before a node is known in its bodies; later names, and those of the node's own outputs, they may have
// themselves. `outside` gains the nodes' outputs.
void sort_bodies(Nodes& nodes, Names& outside, int depth) {
  for (onnx::NodeProto& node : nodes) {
    for_each_graph(node, [&](onnx::GraphProto& inner) { sort_graph(inner, outside, depth + 1); });
    outside.insert(node.output().begin(), node.output().end());
  }
}

std::vector<const onnx::NodeProto*> needed(const Nodes& nodes, Names wanted) {
  std::vector<const onnx::NodeProto*> list;
  for (int i = nodes.size() - 1; i >= 0; --i) {
    const bool feeds = std::any_of(nodes[i].output().begin(), nodes[i].output().end(),
                                   [&](const std::string& output) { return wanted.contains(output); });
    if (!feeds) continue;
    list.push_back(&nodes[i]);
    add_reads(nodes[i], wanted);
  }
  std::reverse(list.begin(), list.end());
  return list;
}

}  // namespace

void check_and_sort(onnx::GraphProto& graph) { sort_graph(graph, {}, 0); }

void check_and_sort(onnx::FunctionProto& function) {
  Names names(function.input().begin(), function.input().end());
  NodeSorter(*function.mutable_node(), names).sort();
  sort_bodies(*function.mutable_node(), names, 0);
  for (const std::string& output : function.output()) {
    if (!names.contains(output))
      invalid(fmt::format("function '{}': nothing makes output '{}'", function.name(), output));
  }
}

std::vector<const onnx::NodeProto*> needed_nodes(const onnx::GraphProto& graph) {
  Names wanted;
  for (const onnx::ValueInfoProto& output : graph.output()) wanted.insert(output.name());
  return needed(graph.node(), std::move(wanted));
}

std::vector<const onnx::NodeProto*> needed_nodes(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  Names wanted;
  for (int i = 0; i < std::min(function.output_size(), call.output_size()); ++i) {
    if (!call.output(i).empty()) wanted.insert(function.output(i));
  }
  return needed(function.node(), std::move(wanted));
}

}  // namespace planwright::builder
