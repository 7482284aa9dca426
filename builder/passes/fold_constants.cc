#include <algorithm>
#include <optional>
#include <vector>

#include "builder/ir/interpret.h"
#include "builder/passes/passes.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

// A fold may not grow data: it makes no more elements than it reads, or few. So a huge Expand, Fill or Range stays a
// node, and a chain of them does not grow step by step; a change of type may widen what there is.
constexpr uint64_t kSmallBytes = uint64_t{1} << 20;

std::optional<std::vector<int64_t>> constants_of(const ir::Shape& shape) {
  std::vector<int64_t> values;
  for (ir::Dim dim : shape) {
    if (!dim.is_constant()) return std::nullopt;
    values.push_back(dim.constant());
  }
  return values;
}

// nullopt where it overflows.
std::optional<uint64_t> element_count(const std::vector<int64_t>& dims) {
  uint64_t count = 1;
  for (int64_t dim : dims) {
    if (!checked_mul(count, static_cast<uint64_t>(dim), &count)) return std::nullopt;
  }
  return count;
}

struct Foldable {
  std::vector<int64_t> scalars;
  std::vector<DType> types;
  std::vector<std::vector<int64_t>> dims;
};

// What running the node now takes, if it can be run and may be.
std::optional<Foldable> foldable(const ir::Graph& graph, const ir::Node& node) {
  if (is_control(node.kind) || node.kind == OpKind::kCustom) return std::nullopt;
  if (node.kind == OpKind::kReadValues) return std::nullopt;  // symbols name its output
  Foldable fold;
  uint64_t elements_read = 0, elements_made = 0;
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kNone) continue;
    const ir::Value& value = graph.value(id);
    if (!value.is_constant()) return std::nullopt;
    elements_read += value.constant->size() / size_of(value.dtype);
  }
  const std::optional<std::vector<int64_t>> scalars = constants_of(node.scalars);
  if (!scalars) return std::nullopt;
  fold.scalars = *scalars;
  for (ir::ValueId id : node.outputs) {
    const ir::Value& value = graph.value(id == ir::kNone ? node.outputs[0] : id);
    const std::optional<std::vector<int64_t>> dims = constants_of(value.dims);
    if (!dims) return std::nullopt;
    const std::optional<uint64_t> count = element_count(*dims);
    if (!count || !checked_add(elements_made, *count, &elements_made)) return std::nullopt;
    fold.types.push_back(value.dtype);
    fold.dims.push_back(*dims);
  }
  constexpr uint64_t kSmallElements = kSmallBytes / sizeof(int64_t);
  if (elements_made > std::max(elements_read, kSmallElements)) return std::nullopt;
  return fold;
}

void run(ir::Graph& graph, const ir::Node& node, const Foldable& fold) {
  std::vector<ir::Tensor> tensors;
  tensors.reserve(node.inputs.size());
  std::vector<const ir::Tensor*> inputs;
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kNone) {
      inputs.push_back(nullptr);
      continue;
    }
    const ir::Value& value = graph.value(id);
    inputs.push_back(&tensors.emplace_back(ir::Tensor{value.dtype, *constants_of(value.dims), *value.constant}));
  }
  std::vector<ir::Tensor> results;
  try {
    results = ir::run_reference(node, inputs, fold.scalars, fold.types, fold.dims);
  } catch (const Error& error) {
    // At run time this would be the data's fault; a constant is the model's.
    throw Error(error.code() == StatusCode::kPrecondition ? StatusCode::kInvalid : error.code(), error.what());
  }
  const std::vector<ir::ValueId> outputs = node.outputs;
  graph.erase_node(node.id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == ir::kNone) continue;
    graph.value(outputs[i]).constant = std::make_shared<const ir::Bytes>(std::move(results[i].data));
  }
}

}  // namespace

bool fold_constants(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    const std::optional<Foldable> fold = foldable(graph, node);
    if (!fold) continue;
    run(graph, node, *fold);
    changed = true;
  }
  return changed;
}

}  // namespace planwright::builder
