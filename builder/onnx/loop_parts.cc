#include "builder/onnx/loop_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "schemas/types/error.h"

namespace planwright::builder::importer {
namespace {

[[noreturn]] void invalid(const onnx::NodeProto& node, const Emitter& emitter, const std::string& what) {
  throw Error(StatusCode::kInvalid, fmt::format("{} ({}): {}", emitter.layer(), node.op_type(), what));
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// One integer for each of `count` inputs or outputs; 0 where the attribute is not given.
std::vector<int64_t> one_each(const onnx::NodeProto& node, const Emitter& emitter, const std::string& name,
                              size_t count) {
  const onnx::AttributeProto* found = find_attribute(node, name);
  std::vector<int64_t> values(count, 0);
  if (found == nullptr) return values;
  if (static_cast<size_t>(found->ints_size()) != count) {
    invalid(node, emitter, fmt::format("its attribute '{}' has {} entries, not {}", name, found->ints_size(), count));
  }
  std::copy(found->ints().begin(), found->ints().end(), values.begin());
  return values;
}

void require_one(const onnx::NodeProto& node, const Emitter& emitter, ValueId id, DType dtype,
                 const std::string& what) {
  const ir::Value& value = emitter.value(id);
  if (value.dtype == dtype && ir::product(value.dims) == Dim(1)) return;
  invalid(
      node, emitter,
      fmt::format("its {} is {}{}, not one {}", what, name_of(value.dtype), ir::to_string(value.dims), name_of(dtype)));
}

// The axis moved to the front; -1 counts from behind.
ValueId axis_first(const onnx::NodeProto& node, Emitter& emitter, ValueId id, int64_t axis) {
  const int rank = emitter.rank(id);
  if (axis < -rank || axis >= rank) {
    invalid(node, emitter, fmt::format("scan axis {} is not in [{}, {})", axis, -rank, rank));
  }
  std::vector<int> perm{static_cast<int>(axis < 0 ? axis + rank : axis)};
  for (int i = 0; i < rank; ++i) {
    if (i != perm[0]) perm.push_back(i);
  }
  return emitter.transpose(id, perm);
}

}  // namespace

const onnx::GraphProto& graph_attribute(const onnx::NodeProto& node, const std::string& name) {
  const onnx::AttributeProto* found = find_attribute(node, name);
  if (found == nullptr || !found->has_g()) {
    throw Error(StatusCode::kInvalid, fmt::format("{} ({}): it has no graph '{}'", node.name(), node.op_type(), name));
  }
  return found->g();
}

LoopParts read_loop(const onnx::NodeProto& node, Emitter& emitter, const std::vector<ValueId>& inputs) {
  LoopParts parts;
  const onnx::GraphProto& body = graph_attribute(node, "body");
  const int carried = body.input_size() - 2, given = static_cast<int>(inputs.size());
  if (carried < 0 || (carried > 0 && carried != given - 2) || body.output_size() < carried + 1 ||
      node.output_size() > body.output_size() - 1) {
    invalid(node, emitter,
            fmt::format("its body has {} inputs and {} outputs, which does not fit {} inputs and {} outputs",
                        body.input_size(), body.output_size(), given, node.output_size()));
  }
  parts.body = &body;
  parts.iteration = body.input(0).name();
  parts.condition_in = body.input(1).name();
  parts.condition_out = body.output(0).name();
  if (given > 0 && inputs[0] != ir::kNone) {
    require_one(node, emitter, inputs[0], DType::kI64, "trip count");
    parts.trips = inputs[0];
    if (const auto& elements = emitter.value(inputs[0]).elements) parts.trip_count = ir::max((*elements)[0], 0);
  }
  if (given > 1 && inputs[1] != ir::kNone) {
    require_one(node, emitter, inputs[1], DType::kBool, "condition");
    parts.condition = inputs[1];
  }
  for (int i = 0; i < carried; ++i) {
    const ValueId first = inputs[static_cast<size_t>(i) + 2];
    if (first == ir::kNone) invalid(node, emitter, fmt::format("carried value {} has no first value", i));
    parts.carried.push_back({first, body.input(i + 2).name(), body.output(i + 1).name()});
  }
  for (int i = carried + 1; i < body.output_size(); ++i) parts.stacked.push_back({body.output(i).name(), 0, false});
  return parts;
}

LoopParts read_scan(const onnx::NodeProto& node, Emitter& emitter, const std::vector<ValueId>& inputs) {
  LoopParts parts;
  const onnx::GraphProto& body = graph_attribute(node, "body");
  if (find_attribute(node, "directions") != nullptr || static_cast<int>(inputs.size()) == body.input_size() + 1) {
    throw Error(StatusCode::kUnsupported,
                "a Scan of opset 8, over batches and sequence lengths; convert the model to opset 9 or later");
  }
  const onnx::AttributeProto* count = find_attribute(node, "num_scan_inputs");
  const int64_t sliced = count == nullptr ? 0 : count->i();
  // Compared before it is subtracted: it may be any int64.
  const int64_t states = sliced < 1 || sliced > body.input_size() ? -1 : body.input_size() - sliced;
  if (states < 0 || body.input_size() != static_cast<int>(inputs.size()) || body.output_size() < states ||
      node.output_size() > body.output_size()) {
    invalid(node, emitter,
            fmt::format("{} scan inputs and a body of {} inputs and {} outputs do not fit {} inputs", sliced,
                        body.input_size(), body.output_size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == ir::kNone) invalid(node, emitter, fmt::format("its input {} is left out", i));
  }
  parts.body = &body;
  for (int i = 0; i < states; ++i) {
    parts.carried.push_back({inputs[static_cast<size_t>(i)], body.input(i).name(), body.output(i).name()});
  }
  const auto axes = one_each(node, emitter, "scan_input_axes", static_cast<size_t>(sliced));
  const auto directions = one_each(node, emitter, "scan_input_directions", static_cast<size_t>(sliced));
  for (size_t i = 0; i < axes.size(); ++i) {
    const int input = static_cast<int>(states) + static_cast<int>(i);
    const ValueId whole = axis_first(node, emitter, inputs[static_cast<size_t>(input)], axes[i]);
    const Dim length = emitter.dims(whole)[0];
    if (i == 0) parts.trip_count = length;
    emitter.guard_equal(*parts.trip_count, length, "all scan inputs have one length");
    parts.sliced.push_back({whole, body.input(input).name(), directions[i] != 0});
  }
  parts.trips = emitter.shape_values(DType::kI64, {}, {*parts.trip_count});
  const auto stacked = static_cast<size_t>(body.output_size() - static_cast<int>(states));
  const auto output_axes = one_each(node, emitter, "scan_output_axes", stacked);
  const auto output_directions = one_each(node, emitter, "scan_output_directions", stacked);
  for (size_t i = 0; i < stacked; ++i) {
    parts.stacked.push_back({body.output(static_cast<int>(states) + static_cast<int>(i)).name(), output_axes[i],
                             output_directions[i] != 0});
  }
  return parts;
}

}  // namespace planwright::builder::importer
