#include "builder/emit.h"

#include <algorithm>
#include <cstring>

#include "builder/memory_plan.h"
#include "builder/storage.h"
#include "builder/weights.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"
#include "tactics/fingerprint.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::NodeId;
using ir::Placement;
using ir::ValueId;
using planfmt::PlanModel;
using planfmt::ProgramModel;
using planfmt::StorageKind;
using planfmt::StorageModel;

constexpr uint64_t kScratchAlignment = 64;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& list) {
  std::vector<std::byte> bytes(list.size() * sizeof(T));
  if (!list.empty()) std::memcpy(bytes.data(), list.data(), bytes.size());
  return bytes;
}

// The largest of a size function's answers at the profile's opt and corners: sizes grow with each dim.
using SizeFunction = size_t (*)(const KernelArgs&);
uint64_t largest(SizeFunction size, const PlannedStep& step) {
  if (size == nullptr) return 0;
  std::vector<TensorView> views;
  const TacticParams& tactic = step.choice.candidate.tactic;
  uint64_t result = size(args_of(step.opt, tactic, &views));
  for (const tactics::StepSpec& corner : step.corners) {
    result = std::max<uint64_t>(result, size(args_of(corner, tactic, &views)));
  }
  return result;
}

// One program: its storages, tensors and steps, then the arena.
class ProgramEmitter {
 public:
  ProgramEmitter(const Graph& graph, const Box& box, ExpressionTable* expressions, PlanModel* plan)
      : graph_(graph), box_(box), expressions_(*expressions), plan_(*plan) {}

  ProgramModel emit(const std::vector<PlannedStep>& steps, const std::vector<uint32_t>& kernels) {
    std::vector<NodeId> nodes;
    for (const PlannedStep& step : steps) nodes.push_back(step.node);
    const std::vector<std::vector<std::string>> names = onnx_names(graph_, nodes);
    for (size_t i = 0; i < steps.size(); ++i) {
      step_ = static_cast<int32_t>(i);
      planfmt::StepModel model = emit_step(steps[i]);
      model.kernel = kernels[i];
      model.onnx = names[i];
      program_.steps.push_back(std::move(model));
    }
    place_in_arena();
    return std::move(program_);
  }

  uint64_t lower_bound() const { return lower_bound_; }

 private:
  planfmt::StepModel emit_step(const PlannedStep& step) {
    const Node& node = graph_.node(step.node);
    const KernelDescriptor& kernel = *step.choice.candidate.kernel;
    planfmt::StepModel model;
    model.op = static_cast<uint8_t>(node.kind);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_packed = i < 32 && (kernel.packed_inputs >> i & 1) != 0;
      model.inputs.push_back(is_packed ? packed_tensor(node.inputs[i]) : tensor(node.inputs[i]));
    }
    for (const ValueId output : node.outputs) model.outputs.push_back(tensor(output));
    model.core_inputs = static_cast<uint32_t>(node.core_inputs);
    model.params = ir::to_bytes(node.params);
    model.scalars = expressions_.add(node.scalars);
    model.program = bytes_of(node.program);
    std::copy(std::begin(step.choice.candidate.tactic.v), std::end(step.choice.candidate.tactic.v),
              model.tactic.begin());
    if (SharedBytes packed = packed_weights(step.opt, step.choice.candidate)) {
      model.packed = static_cast<int32_t>(plan_.weights.add(std::move(packed)));
    }
    if (const uint64_t bytes = largest(kernel.workspace_size, step); bytes > 0) {
      model.workspace = static_cast<int32_t>(add_arena_storage(bytes));
    }
    program_.scratch_per_worker =
        std::max(program_.scratch_per_worker, align_up(largest(kernel.scratch_size, step), kScratchAlignment));
    program_.isa = std::max(program_.isa, static_cast<uint8_t>(kernel.isa));
    model.name = node.name;
    model.time_us = step.choice.time_us;
    return model;
  }

  // ---- Tensors

  int32_t tensor(ValueId id) {
    if (id == kNone) return -1;
    const Placement place = placement_of(graph_, id);
    const uint32_t storage = storage_of(place.storage);
    touch(storage);
    const auto [entry, is_new] = tensors_.try_emplace(id);
    if (is_new) entry->second = add_tensor(id, place, storage);
    return entry->second;
  }

  // Dims only: the elements are in the step's packed weights.
  int32_t packed_tensor(ValueId id) {
    if (id == kNone) return -1;
    const auto [entry, is_new] = packed_tensors_.try_emplace(id);
    if (is_new) {
      if (!none_storage_) none_storage_ = add_storage({});
      entry->second = add_tensor(id, placement_of(graph_, id), *none_storage_);
    }
    return entry->second;
  }

  int32_t add_tensor(ValueId id, const Placement& place, uint32_t storage) {
    const ir::Value& value = graph_.value(id);
    planfmt::TensorModel model;
    model.storage = storage;
    model.dtype = value.dtype;
    model.dims = expressions_.add(value.dims);
    model.strides = expressions_.add(place.strides);
    model.offset = expressions_.add(place.offset);
    model.name = value.name;
    program_.tensors.push_back(std::move(model));
    return static_cast<int32_t>(program_.tensors.size() - 1);
  }

  // ---- Storages

  uint32_t storage_of(ValueId base) {
    const auto [entry, is_new] = storages_.try_emplace(base);
    if (is_new) entry->second = make_storage(graph_.value(base));
    return entry->second;
  }

  uint32_t make_storage(const ir::Value& base) {
    if (base.is_constant()) {
      SharedBytes bytes = placed_elements(base);
      const uint64_t size = bytes->size();
      return add_storage({StorageKind::kWeights, plan_.weights.add(std::move(bytes)), 0, size});
    }
    const uint64_t size = box_.bytes_at_most(base);
    const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), base.id);
    if (input != graph_.inputs.end()) {
      return add_storage({StorageKind::kBinding, static_cast<uint32_t>(input - graph_.inputs.begin()), 0, size});
    }
    const auto output = std::find(graph_.outputs.begin(), graph_.outputs.end(), base.id);
    if (output != graph_.outputs.end()) {
      const auto index =
          static_cast<uint32_t>(graph_.inputs.size()) + static_cast<uint32_t>(output - graph_.outputs.begin());
      return add_storage({StorageKind::kBinding, index, 0, size});
    }
    return add_arena_storage(size);
  }

  uint32_t add_storage(const StorageModel& model) {
    program_.storages.push_back(model);
    lives_.push_back({0, 0, 0});
    return static_cast<uint32_t>(program_.storages.size() - 1);
  }

  uint32_t add_arena_storage(uint64_t size) {
    const uint32_t storage = add_storage({StorageKind::kArena, 0, 0, size});
    lives_[storage] = {size, step_, step_};
    return storage;
  }

  void touch(uint32_t storage) { lives_[storage].last = step_; }

  void place_in_arena() {
    const MemoryPlan memory = plan_memory(lives_);  // storages outside the arena have size 0 there
    for (size_t i = 0; i < program_.storages.size(); ++i) {
      if (program_.storages[i].kind == StorageKind::kArena) program_.storages[i].offset = memory.offsets[i];
    }
    program_.arena_size = memory.arena_size;
    lower_bound_ = memory.lower_bound;
  }

  const Graph& graph_;
  const Box& box_;
  ExpressionTable& expressions_;
  PlanModel& plan_;
  ProgramModel program_;
  std::map<ValueId, int32_t> tensors_, packed_tensors_;
  std::map<ValueId, uint32_t> storages_;
  std::optional<uint32_t> none_storage_;
  std::vector<BufferLife> lives_;  // one a storage
  int32_t step_ = 0;
  uint64_t lower_bound_ = 0;
};

}  // namespace

PlanEmitter::PlanEmitter(const Graph& graph, const BuildOptions& options) : graph_(graph) {
  plan_.producer = "Planwright " PW_VERSION;
  plan_.device = tactics::device_fingerprint();
  plan_.model = graph.name;
  plan_.threads = options.search.threads;
  add_bindings();
  for (const ir::Guard& guard : graph.guards) {
    const bool is_proven =
        guard.equal ? proven_equal(guard.left, guard.right) : proven_at_most(guard.left, guard.right);
    if (is_proven) continue;
    plan_.guards.push_back(
        {guard.equal, expressions_.add(guard.left), expressions_.add(guard.right), guard.layer, guard.reason});
  }
  for (const Profile& profile : options.profiles) add_profile(profile);
}

void PlanEmitter::add_bindings() {
  for (const ValueId id : graph_.inputs) {
    const ir::Value& value = graph_.value(id);
    plan_.bindings.push_back({value.name, true, value.dtype, expressions_.add(value.dims)});
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const ir::Value& value = graph_.value(graph_.outputs[i]);
    plan_.bindings.push_back({graph_.output_names[i], false, value.dtype, expressions_.add(value.dims)});
  }
}

void PlanEmitter::add_profile(const Profile& profile) {
  planfmt::ProfileModel model;
  for (size_t i = 0; i < profile.inputs.size(); ++i) {
    planfmt::ShapeRangeModel range;
    range.binding = static_cast<uint32_t>(i);
    range.min = profile.inputs[i].min;
    range.opt = profile.inputs[i].opt;
    range.max = profile.inputs[i].max;
    range.value_min = profile.inputs[i].value_min;
    range.value_opt = profile.inputs[i].value_opt;
    range.value_max = profile.inputs[i].value_max;
    model.inputs.push_back(std::move(range));
  }
  plan_.profiles.push_back(std::move(model));
}

ProgramStats PlanEmitter::add_program(size_t index, const Box& box, const std::vector<PlannedStep>& steps) {
  std::vector<uint32_t> kernels;
  for (const PlannedStep& step : steps) {
    const KernelDescriptor& kernel = *step.choice.candidate.kernel;
    const auto [entry, is_new] =
        kernels_.try_emplace({kernel.name, kernel.revision}, static_cast<uint32_t>(plan_.kernels.size()));
    if (is_new) plan_.kernels.push_back({kernel.name, kernel.revision});
    kernels.push_back(entry->second);
  }
  ProgramEmitter emitter(graph_, box, &expressions_, &plan_);
  ProgramModel program = emitter.emit(steps, kernels);
  program.profile = static_cast<uint32_t>(index);

  const uint64_t scratch = program.scratch_per_worker * static_cast<uint64_t>(plan_.threads);
  ProgramStats stats;
  stats.arena_bytes = program.arena_size + scratch;
  stats.arena_lower_bound = emitter.lower_bound() + scratch;
  stats.steps = static_cast<int>(program.steps.size());
  plan_.programs.push_back(std::move(program));
  return stats;
}

PlanModel PlanEmitter::take() {
  plan_.expressions = expressions_.to_models(graph_.expr_pool()->symbols(), &plan_.symbols);
  return std::move(plan_);
}

}  // namespace planwright::builder
