#include "apps/buildengine/layer_pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/buildengine/layer_info.h"
#include "apps/common/console.h"
#include "apps/common/flag_names.h"
#include "apps/common/shape_spec.h"
#include "planfmt/lifetimes.h"
#include "schemas/types/error.h"
#include "tactics/kernels/op.h"

namespace planwright::apps {
namespace {

using planfmt::PlanModel;
using planfmt::ProgramModel;
using planfmt::StepModel;
using planfmt::TensorModel;

constexpr PinType kTypes[] = {PinType::kFp32, PinType::kBf16, PinType::kInt8};
// Names that a message lists.
constexpr size_t kListed = 5;

PinType parse_type(const std::string& text, const std::string& flag) {
  for (const PinType type : kTypes) {
    if (text == name_of(type)) return type;
  }
  throw UsageError(fmt::format("{}: '{}' is none of fp32, bf16, int8", flag, text));
}

std::vector<PinType> parse_types(const std::string& text, const std::string& flag) {
  std::vector<PinType> types;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    types.push_back(parse_type(text.substr(begin, end - begin), flag));
    begin = end + 1;
  }
  return types;
}

[[noreturn]] void refuse_unknown(const std::string& pattern, const std::vector<std::string>& names,
                                 const std::string& flag) {
  const std::string close = nearest(pattern, names);
  const std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), kListed));
  throw UsageError(fmt::format("{}: no layer is called '{}'; {}", flag, pattern,
                               !close.empty()  ? fmt::format("did you mean '{}'?", close)
                               : first.empty() ? "the model has no layers"
                                               : fmt::format("there are {}{}", fmt::join(first, ", "),
                                                             names.size() > kListed ? " and others" : "")));
}

// Of a layer's outputs all are fp32 where one is: their steps need not be told apart.
PinType type_of_all(const std::vector<PinType>& types) { return *std::min_element(types.begin(), types.end()); }

std::map<std::string, PinType> resolve(const std::vector<LayerSpec>& specs, const std::vector<std::string>& names,
                                       const std::string& flag) {
  std::map<std::string, PinType> pins;
  for (const LayerSpec& spec : specs) {
    bool fits = false;
    for (const std::string& name : names) {
      if (!matches(spec.pattern, name)) continue;
      fits = true;
      pins[name] = type_of_all(spec.types);
    }
    if (!fits) refuse_unknown(spec.pattern, names, flag);
  }
  return pins;
}

std::optional<PinType> find(const std::map<std::string, PinType>& pins, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) {
    if (const auto found = pins.find(node); found != pins.end()) return found->second;
  }
  return std::nullopt;
}

bool is_product(const StepModel& step) { return takes_epilogue(static_cast<OpKind>(step.op)); }

bool does_work_of(const StepModel& step, const std::string& node) {
  return std::find(step.onnx.begin(), step.onnx.end(), node) != step.onnx.end();
}

std::vector<const TensorModel*> outputs_of(const ProgramModel& program, const StepModel& step) {
  std::vector<const TensorModel*> outputs;
  for (const int32_t output : step.outputs) {
    if (output >= 0) outputs.push_back(&program.tensors[static_cast<size_t>(output)]);
  }
  return outputs;
}

// Why a step that computes in `precision` does not hold its pin; empty where it does.
std::string refusal_of(PinType pin, const StepModel& step, const std::string& precision) {
  const bool is_bytes = precision == "int8" || precision == "uint8";
  switch (pin) {
    case PinType::kFp32:
      if (precision == "int8") return "multiplies in int8, as the model's own quantisation says";
      return precision == "bf16" ? "computes in bf16" : "";
    case PinType::kBf16:
      if (precision == "bf16") return "";
      return is_product(step)
                 ? fmt::format("multiplies in {}: no kernel in bf16 can run it here, or --maxDrop does not let it",
                               precision)
                 : fmt::format("computes in {}: only products are computed in bf16", precision);
    case PinType::kInt8:
      if (is_bytes) return "";
      return is_product(step) ? fmt::format(
                                    "multiplies in {}: its weights are no constants, or there are no levels of "
                                    "what it reads",
                                    precision)
                              : fmt::format("computes in {}: only products are computed in int8", precision);
  }
  return "";
}

}  // namespace

const char* name_of(PinType type) {
  constexpr const char* kNames[] = {"fp32", "bf16", "int8"};
  return kNames[static_cast<int>(type)];
}

std::vector<LayerSpec> parse_layer_specs(const std::string& text, const std::string& flag) {
  std::vector<LayerSpec> specs;
  for (const auto& [name, types] : parse_names(text, flag)) {
    if (std::count(name.begin(), name.end(), '*') > 1) {
      throw UsageError(fmt::format("{}: '{}' has more than one *", flag, name));
    }
    specs.push_back({name, parse_types(types, flag)});
  }
  return specs;
}

PinConstraint parse_constraint(const std::string& text) {
  if (text == "none") return PinConstraint::kNone;
  if (text == "prefer") return PinConstraint::kPrefer;
  if (text == "obey") return PinConstraint::kObey;
  throw UsageError(fmt::format("--precisionConstraints: '{}' is none of none, prefer, obey", text));
}

std::vector<std::string> node_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    names.insert(names.end(), node.onnx.begin(), node.onnx.end());
    for (const auto& body : node.bodies) {
      const std::vector<std::string> inner = node_names(*body);
      names.insert(names.end(), inner.begin(), inner.end());
    }
  }
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
  return names;
}

LayerPins::LayerPins(const PinFlags& flags, const std::vector<std::string>& names)
    : precisions_(resolve(flags.precisions, names, "--layerPrecisions")),
      output_types_(resolve(flags.output_types, names, "--layerOutputTypes")),
      obeys_(flags.constraint == PinConstraint::kObey) {}

std::optional<PinType> LayerPins::precision_of(const std::vector<std::string>& nodes) const {
  return find(precisions_, nodes);
}

std::optional<PinType> LayerPins::output_type_of(const std::vector<std::string>& nodes) const {
  return find(output_types_, nodes);
}

builder::StepPins LayerPins::steps(const PlanModel& floats) const {
  builder::StepPins pins;
  for (const ProgramModel& program : floats.programs) {
    for (const StepModel* step : sequence_of(program).steps) {
      const std::optional<PinType> precision = precision_of(step->onnx);
      if (precision == PinType::kFp32) pins.fp32.insert(step->name);
      if (precision == PinType::kBf16) pins.bf16.insert(step->name);
      if (output_type_of(step->onnx) == PinType::kFp32) pins.fp32_outputs.insert(step->name);
    }
  }
  return pins;
}

LayerPins::Quantised LayerPins::quantised(const PlanModel& floats,
                                          const std::vector<ir::QuantisableLayer>& layers) const {
  Quantised result;
  const ProgramModel& program = floats.programs.front();
  std::map<std::string, const StepModel*> products;  // by layer
  std::map<std::string, PinType> tensors;            // what is demanded of them
  std::map<std::string, std::string> makers;
  for (const StepModel* step : sequence_of(program).steps) {
    for (const ir::QuantisableLayer& layer : layers) {
      if (is_product(*step) && does_work_of(*step, layer.name)) products[layer.name] = step;
    }
    const std::optional<PinType> type = output_type_of(step->onnx);
    if (!type) continue;
    for (const TensorModel* output : outputs_of(program, *step)) {
      tensors[output->name] = *type;
      makers[output->name] = step->name;
    }
  }
  std::set<std::string> read;
  for (const ir::QuantisableLayer& layer : layers) {
    const auto product = products.find(layer.name);
    std::optional<PinType> own = find(precisions_, {layer.name});
    if (!own && product != products.end()) own = precision_of(product->second->onnx);
    const auto tensor = tensors.find(layer.activation);
    const bool has_tensor = tensor != tensors.end();
    if (has_tensor) read.insert(layer.activation);
    if (own && has_tensor && (*own == PinType::kInt8) != (tensor->second == PinType::kInt8)) {
      result.unheld.push_back(
          {layer.name, fmt::format("is pinned to {}, and it reads what layer {} makes, whose output is pinned to {}",
                                   name_of(*own), makers[layer.activation], name_of(tensor->second))});
    }
    if (!own && has_tensor) own = tensor->second;
    if (own) (*own == PinType::kInt8 ? result.int8 : result.floats).insert(layer.name);
  }
  for (const auto& [tensor, type] : tensors) {
    if (type == PinType::kInt8 && !read.contains(tensor)) {
      result.unheld.push_back(
          {makers[tensor], "has its output pinned to int8, and no layer that reads it can be int8"});
    }
  }
  return result;
}

std::vector<UnheldPin> LayerPins::unheld(const PlanModel& plan, const std::set<std::string>& still_open) const {
  std::vector<UnheldPin> list;
  std::set<std::string> seen;  // several profiles have the same layers
  for (const ProgramModel& program : plan.programs) {
    for (const StepModel* step : sequence_of(program).steps) {
      const std::optional<PinType> pin = precision_of(step->onnx);
      const bool is_open =
          pin == PinType::kInt8 && std::any_of(step->onnx.begin(), step->onnx.end(),
                                               [&](const auto& node) { return still_open.contains(node); });
      if (pin && !is_open) {
        const std::string why = refusal_of(*pin, *step, apps::precision_of(plan, program, *step));
        if (!why.empty() && seen.insert(step->name).second) {
          list.push_back({step->name, fmt::format("is pinned to {} and {}", name_of(*pin), why)});
        }
      }
      if (output_type_of(step->onnx) != PinType::kFp32) continue;
      for (const TensorModel* output : outputs_of(program, *step)) {
        const DType type = output->dtype;
        if (type != DType::kU8 && type != DType::kI8 && type != DType::kBF16) continue;
        if (!seen.insert(step->name + '\n' + output->name).second) continue;
        list.push_back({step->name, fmt::format("has its output '{}' pinned to fp32 and stores {}", output->name,
                                                planwright::name_of(type))});
      }
    }
  }
  return list;
}

void report_unheld(const std::vector<UnheldPin>& pins, bool obeys,
                   const std::function<void(const std::string&)>& warn) {
  if (pins.empty()) return;
  std::string text;
  for (size_t i = 0; i < std::min(pins.size(), kListed); ++i) {
    text += fmt::format("{}layer {} {}", i == 0 ? "" : "; ", pins[i].layer, pins[i].why);
  }
  if (pins.size() > kListed) text += fmt::format("; and {} more", pins.size() - kListed);
  if (obeys) {
    throw Error(
        StatusCode::kInvalid,
        fmt::format("--precisionConstraints=obey: {}; change the pins, or use --precisionConstraints=prefer", text));
  }
  warn(fmt::format("pins that do not hold: {}", text));
}

}  // namespace planwright::apps
