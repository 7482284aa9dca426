#include "builder/onnx/node_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace planwright::builder::importer {

NodeContext::NodeContext(ir::Graph& graph, Setting setting)
    : Emitter(graph, setting.layer, setting.onnx, setting.prefix),
      setting_(std::move(setting)),
      outputs_(static_cast<size_t>(setting_.node->output_size()), ir::kNone) {}

ValueId NodeContext::in(int input) const {
  if (!has(input)) invalid(fmt::format("input {} is missing", input));
  return setting_.inputs[static_cast<size_t>(input)];
}

const onnx::AttributeProto* NodeContext::attribute(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : node().attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  if (schema() == nullptr) return nullptr;
  const auto& attributes = schema()->attributes();
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.default_value.type() == onnx::AttributeProto::UNDEFINED)
    return nullptr;
  return &found->second.default_value;
}

int64_t NodeContext::get_int(const std::string& name, int64_t fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? fallback : found->i();
}

int32_t NodeContext::get_int32(const std::string& name, int32_t fallback) const {
  const int64_t value = get_int(name, fallback);
  require(value == static_cast<int32_t>(value), fmt::format("its attribute '{}' is {}, out of range", name, value));
  return static_cast<int32_t>(value);
}

float NodeContext::get_float(const std::string& name, float fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? fallback : found->f();
}

std::string NodeContext::get_string(const std::string& name, const std::string& fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? fallback : found->s();
}

std::vector<int64_t> NodeContext::get_ints(const std::string& name, const std::vector<int64_t>& fallback) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return fallback;
  return {found->ints().begin(), found->ints().end()};
}

std::vector<float> NodeContext::get_floats(const std::string& name) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> NodeContext::get_strings(const std::string& name) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

std::vector<int64_t> NodeContext::constant_ints(int input, const std::string& what) const {
  const ir::Value& source = value(in(input));
  require(!is_float(source.dtype), fmt::format("'{}' is {}, not an integer", what, name_of(source.dtype)));
  if (source.is_constant()) return read_ints(source);
  if (source.elements && std::all_of(source.elements->begin(), source.elements->end(),
                                     [](const Dim& element) { return element.is_constant(); })) {
    std::vector<int64_t> values;
    for (const Dim& element : *source.elements) values.push_back(element.constant());
    return values;
  }
  unsupported(fmt::format("'{}' is not a constant; make it an initializer", what));
}

int64_t NodeContext::constant_int(int input, const std::string& what) const {
  const std::vector<int64_t> values = constant_ints(input, what);
  require(values.size() == 1, fmt::format("'{}' has {} elements where one is meant", what, values.size()));
  return values[0];
}

std::vector<double> NodeContext::constant_doubles(int input, const std::string& what) const {
  const ir::Value& source = value(in(input));
  if (!source.is_constant()) unsupported(fmt::format("'{}' is not a constant; make it an initializer", what));
  return read_doubles(source);
}

double NodeContext::constant_double(int input, const std::string& what) const {
  const std::vector<double> values = constant_doubles(input, what);
  require(values.size() == 1, fmt::format("'{}' must be one number, not {}", what, values.size()));
  return values[0];
}

int NodeContext::normalize_axis(int64_t axis, int rank, const std::string& what) const {
  if (axis < -rank || axis >= rank) {
    invalid(fmt::format("{} {} is not in [{}, {}), the axes of its input", what, axis, -rank, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

uint32_t NodeContext::axis_mask(const std::vector<int64_t>& axes, int rank) const {
  uint32_t mask = 0;
  for (const int64_t axis : axes) {
    const uint32_t bit = 1u << normalize_axis(axis, rank, "axes entry");
    require((mask & bit) == 0, fmt::format("axis {} stands twice in 'axes'", axis));
    mask |= bit;
  }
  return mask;
}

void NodeContext::invalid(const std::string& what) const {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", title(), what));
}

void NodeContext::unsupported(const std::string& why) const { throw Refusal(title(), why); }

}  // namespace planwright::builder::importer
