// Orders the nodes so that few bytes are alive at once.
//
// The best order is NP-hard to find, and most graphs are chains with a few branches, so three orders are weighed and
// the lowest peak wins: the model's own (it wins ties, which keeps reports readable), one that always runs the ready
// node that frees the most, and a depth-first one that finishes the branch that needs most room first. Sizes are
// upper bounds over the profiles, as the memory plan takes them.
#include <algorithm>
#include <limits>

#include "builder/ir/results.h"
#include "builder/passes/passes.h"
#include "builder/storage.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

using Order = std::vector<NodeId>;

// Bytes as doubles: they are only compared, and cannot overflow.
double bytes_of(const Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  double bytes = static_cast<double>(size_of(value.dtype));
  for (const ir::Dim dim : value.dims) bytes *= static_cast<double>(range_of(dim).max);
  return bytes;
}

// Follows the bytes alive while nodes run.
class Meter {
 public:
  explicit Meter(const Graph& graph)
      : size_(static_cast<size_t>(graph.value_count())),
        uses_(size_.size()),
        left_(size_.size()),
        touched_(static_cast<size_t>(max_node(graph)) + 1) {
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (moves_nothing(graph, node)) continue;
      touched_[static_cast<size_t>(id)] = arena_storages_of(graph, node);
      for (const ValueId storage : touched_[static_cast<size_t>(id)]) {
        size_[static_cast<size_t>(storage)] = bytes_of(graph, storage);
        ++uses_[static_cast<size_t>(storage)];
      }
    }
    restart();
  }

  void restart() {
    left_ = uses_;
    alive_ = peak_ = 0;
  }

  // Bytes that running the node adds to what is alive after it; negative when it frees more.
  double growth(NodeId id) const {
    double growth = 0;
    for (const ValueId storage : touched_[static_cast<size_t>(id)]) {
      const size_t i = static_cast<size_t>(storage);
      if (left_[i] == uses_[i]) growth += size_[i];
      if (left_[i] == 1) growth -= size_[i];
    }
    return growth;
  }

  void run(NodeId id) {
    for (const ValueId storage : touched_[static_cast<size_t>(id)]) {
      const size_t i = static_cast<size_t>(storage);
      if (left_[i] == uses_[i]) alive_ += size_[i];
    }
    peak_ = std::max(peak_, alive_);
    for (const ValueId storage : touched_[static_cast<size_t>(id)]) {
      const size_t i = static_cast<size_t>(storage);
      if (--left_[i] == 0) alive_ -= size_[i];
    }
  }

  double peak() const { return peak_; }

  double peak_of(const Order& order) {
    restart();
    for (const NodeId id : order) run(id);
    return peak_;
  }

 private:
  static NodeId max_node(const Graph& graph) {
    return graph.order().empty() ? 0 : *std::max_element(graph.order().begin(), graph.order().end());
  }

  std::vector<double> size_;
  std::vector<int32_t> uses_, left_;
  std::vector<std::vector<ValueId>> touched_;
  double alive_ = 0, peak_ = 0;
};

// What each node waits for, and who waits for it, by place in the graph's order.
struct Dependencies {
  explicit Dependencies(const Graph& graph) : before(graph.order().size()), after(graph.order().size()) {
    std::vector<int32_t> place(static_cast<size_t>(graph.value_count()), kNone);  // of the value's producer
    for (size_t i = 0; i < graph.order().size(); ++i) {
      const Node& node = graph.node(graph.order()[i]);
      std::vector<ValueId> awaited = node.inputs;
      const std::vector<ValueId> results = ir::results_read_by(graph, node);
      awaited.insert(awaited.end(), results.begin(), results.end());
      for (const ValueId input : awaited) {
        if (input == kNone || place[static_cast<size_t>(input)] == kNone) continue;
        const size_t producer = static_cast<size_t>(place[static_cast<size_t>(input)]);
        if (std::find(before[i].begin(), before[i].end(), producer) != before[i].end()) continue;
        before[i].push_back(producer);
        after[producer].push_back(i);
      }
      for (const ValueId output : node.outputs) {
        if (output != kNone) place[static_cast<size_t>(output)] = static_cast<int32_t>(i);
      }
    }
  }
  std::vector<std::vector<size_t>> before, after;
};

// Always the ready node that grows what is alive the least; the model's order decides between equals.
Order greedy_order(const Order& given, const Dependencies& dependencies, Meter* meter) {
  std::vector<size_t> waits_for(given.size()), ready;
  for (size_t i = 0; i < given.size(); ++i) {
    waits_for[i] = dependencies.before[i].size();
    if (waits_for[i] == 0) ready.push_back(i);
  }
  meter->restart();
  Order order;
  while (!ready.empty()) {
    size_t best = 0;
    double best_growth = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < ready.size(); ++i) {
      const double growth = meter->growth(given[ready[i]]);
      if (growth < best_growth || (growth == best_growth && ready[i] < ready[best])) best = i, best_growth = growth;
    }
    const size_t chosen = ready[best];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(best));
    meter->run(given[chosen]);
    order.push_back(given[chosen]);
    for (const size_t next : dependencies.after[chosen]) {
      if (--waits_for[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

// Each node as late as its first reader allows; of a node's branches, the one that needs most room beyond its result
// first (Sethi and Ullman's rule for trees, taken as a guess for graphs).
Order depth_first_order(const Graph& graph, const Dependencies& dependencies) {
  const Order& given = graph.order();
  std::vector<double> result(given.size()), room(given.size());  // bytes of a node's outputs; needed to compute them
  for (size_t i = 0; i < given.size(); ++i) {
    for (const ValueId output : graph.node(given[i]).outputs)
      result[i] += output == kNone ? 0 : bytes_of(graph, output);
    room[i] = result[i];
    for (const size_t before : dependencies.before[i]) room[i] += result[before];
    for (const size_t before : dependencies.before[i]) room[i] = std::max(room[i], room[before]);
  }
  const auto urgency = [&](size_t i) { return room[i] - result[i]; };

  Order order;
  std::vector<bool> entered(given.size()), done(given.size());
  std::vector<size_t> stack;
  for (size_t root = 0; root < given.size(); ++root) {
    if (!dependencies.after[root].empty()) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const size_t top = stack.back();
      if (!entered[top]) {
        entered[top] = true;
        std::vector<size_t> before = dependencies.before[top];
        std::stable_sort(before.begin(), before.end(), [&](size_t a, size_t b) { return urgency(a) < urgency(b); });
        for (const size_t next : before) {
          if (!entered[next]) stack.push_back(next);  // the last pushed is visited first
        }
        continue;
      }
      stack.pop_back();
      if (done[top]) continue;
      done[top] = true;
      order.push_back(given[top]);
    }
  }
  return order;
}

}  // namespace

bool order_nodes(Graph& graph) {
  const Order given = graph.order();
  const Dependencies dependencies(graph);
  Meter meter(graph);
  const Order* best = &given;
  double best_peak = meter.peak_of(given);
  const Order candidates[] = {greedy_order(given, dependencies, &meter), depth_first_order(graph, dependencies)};
  for (const Order& candidate : candidates) {
    const double peak = meter.peak_of(candidate);
    if (peak < best_peak) best = &candidate, best_peak = peak;
  }
  if (*best == given) return false;
  graph.set_order(*best);
  return true;
}

}  // namespace planwright::builder
