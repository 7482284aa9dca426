#include "apps/buildengine/layer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/common/files.h"
#include "planfmt/lifetimes.h"
#include "schemas/types/checked.h"
#include "tactics/kernels/op.h"
#include "tactics/kernels/registry.h"

namespace planwright::apps {
namespace {

using planfmt::ExprModel;
using planfmt::ExprOp;
using planfmt::PlanModel;
using planfmt::ProgramModel;
using planfmt::StepModel;
using planfmt::StorageKind;
using planfmt::TensorModel;

std::string format_expr(const PlanModel& plan, uint32_t index) {
  const ExprModel& expr = plan.expressions[index];
  const auto pair = [&](const char* form) {
    return fmt::format(fmt::runtime(form), format_expr(plan, expr.a), format_expr(plan, expr.b));
  };
  switch (expr.op) {
    case ExprOp::kConstant: return std::to_string(expr.value);
    case ExprOp::kSymbol: {
      const planfmt::SymbolModel& symbol = plan.symbols[static_cast<size_t>(expr.value)];
      if (symbol.source >= plan.bindings.size()) return fmt::format("result{}", expr.value);
      return fmt::format("{}[{}]", plan.bindings[symbol.source].name, symbol.element);
    }
    case ExprOp::kAdd: return pair("({} + {})");
    case ExprOp::kSub: return pair("({} - {})");
    case ExprOp::kMul: return pair("({} * {})");
    case ExprOp::kFloorDiv: return pair("floor({} / {})");
    case ExprOp::kCeilDiv: return pair("ceil({} / {})");
    case ExprOp::kMod: return pair("({} mod {})");
    case ExprOp::kMin: return pair("min({}, {})");
    case ExprOp::kMax: return pair("max({}, {})");
  }
  return "?";
}

nlohmann::json describe_operands(const PlanModel& plan, const ProgramModel& program, const std::vector<int32_t>& ids) {
  nlohmann::json list = nlohmann::json::array();
  for (const int32_t id : ids) {
    if (id < 0) continue;
    const TensorModel& tensor = program.tensors[static_cast<size_t>(id)];
    nlohmann::json dims = nlohmann::json::array(), strides = nlohmann::json::array();
    for (const uint32_t dim : tensor.dims) dims.push_back(format_expr(plan, dim));
    for (const uint32_t stride : tensor.strides) strides.push_back(format_expr(plan, stride));
    list.push_back(
        {{"Name", tensor.name}, {"Type", name_of(tensor.dtype)}, {"Dimensions", dims}, {"Strides", strides}});
  }
  return list;
}

nlohmann::json describe_layer(const PlanModel& plan, const ProgramModel& program, const StepModel& step,
                              const LayerPins& pins) {
  nlohmann::json described{{"Name", step.name},
                           {"LayerType", name_of(static_cast<OpKind>(step.op))},
                           {"Profile", program.profile},
                           {"Inputs", describe_operands(plan, program, step.inputs)},
                           {"Outputs", describe_operands(plan, program, step.outputs)},
                           {"TacticName", plan.kernels[step.kernel].name},
                           {"TacticParams", step.tactic},
                           {"Precision", precision_of(plan, program, step)},
                           {"TimeUs", step.time_us},
                           {"Onnx", step.onnx}};
  if (const auto pin = pins.precision_of(step.onnx)) described["Pinned"] = name_of(*pin);
  return described;
}

nlohmann::json describe_arena(const ProgramModel& program) {
  const std::vector<planfmt::StorageLife> lives = storage_lives(program);
  nlohmann::json buffers = nlohmann::json::array();
  for (size_t i = 0; i < lives.size(); ++i) {
    const planfmt::StorageModel& storage = program.storages[i];
    if (storage.kind != StorageKind::kArena || !lives[i].used) continue;
    buffers.push_back({{"Offset", storage.offset},
                       {"Size", align_up(storage.size, 64)},
                       {"First", lives[i].first},
                       {"Last", lives[i].last}});
  }
  return {{"Profile", program.profile},
          {"Size", program.arena_size},
          {"ScratchPerWorker", program.scratch_per_worker},
          {"Buffers", buffers}};
}

// Of a layer of floats the step that its product became, in the first profile; null where it has no name of its own.
const StepModel* product_of(const ProgramModel& program, const std::string& layer) {
  for (const StepModel* step : sequence_of(program).steps) {
    if (takes_epilogue(static_cast<OpKind>(step->op)) &&
        std::find(step->onnx.begin(), step->onnx.end(), layer) != step->onnx.end()) {
      return step;
    }
  }
  return nullptr;
}

nlohmann::json describe_sensitivity(const PlanModel& plan, const LayerSensitivity& layer) {
  const ProgramModel& program = plan.programs.front();
  const StepModel* step = layer.is_int8 ? nullptr : product_of(program, layer.name);
  const std::string floats = step == nullptr ? "fp32" : precision_of(plan, program, *step);
  nlohmann::json described{{"Name", layer.name}, {"Precision", layer.is_int8 ? "int8" : floats}};
  if (layer.drop) described["Drop"] = *layer.drop;
  if (layer.gain_us) described["GainUs"] = *layer.gain_us;
  return described;
}

}  // namespace

bool multiplies_bytes(const ProgramModel& program, const StepModel& step) {
  if (!takes_epilogue(static_cast<OpKind>(step.op)) || step.inputs.empty() || step.inputs[0] < 0) return false;
  const DType type = program.tensors[static_cast<size_t>(step.inputs[0])].dtype;
  return type == DType::kU8 || type == DType::kI8;
}

std::string precision_of(const PlanModel& plan, const ProgramModel& program, const StepModel& step) {
  const KernelDescriptor* kernel = find_kernel(plan.kernels[step.kernel].name.c_str());
  if (kernel != nullptr && kernel->precision == Precision::kBf16) return "bf16";
  if (multiplies_bytes(program, step)) return "int8";
  return step.outputs.empty() || step.outputs[0] < 0
             ? "none"
             : name_of(program.tensors[static_cast<size_t>(step.outputs[0])].dtype);
}

void export_layer_info(const PlanModel& plan, const std::vector<LayerSensitivity>& sensitivity, const LayerPins& pins,
                       const std::string& path) {
  nlohmann::json layers = nlohmann::json::array(), arena = nlohmann::json::array(), bindings = nlohmann::json::array();
  for (const ProgramModel& program : plan.programs) {
    for (const StepModel* step : sequence_of(program).steps) {
      layers.push_back(describe_layer(plan, program, *step, pins));
    }
    arena.push_back(describe_arena(program));
  }
  for (const planfmt::BindingModel& binding : plan.bindings) bindings.push_back(binding.name);
  nlohmann::json measured = nlohmann::json::array();
  for (const LayerSensitivity& layer : sensitivity) measured.push_back(describe_sensitivity(plan, layer));
  const nlohmann::json all{{"Layers", layers}, {"Bindings", bindings}, {"Arena", arena}, {"Sensitivity", measured}};
  write_file(path, all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace planwright::apps
