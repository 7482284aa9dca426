#include "builder/emit.h"

#include <algorithm>
#include <cstring>

#include "builder/ir/control.h"
#include "builder/memory_plan.h"
#include "builder/spec.h"
#include "builder/storage.h"
#include "builder/weights.h"
#include "planfmt/header.h"
#include "planfmt/lifetimes.h"
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

// The most that a size function can ask for at the sizes that bound the step. A corner of the box says nothing where a
// guard keeps the shapes from it.
using SizeFunction = size_t (*)(const KernelArgs&);
uint64_t largest(SizeFunction size, const tactics::StepSpec& bound, const tactics::Candidate& candidate) {
  if (size == nullptr) return 0;
  std::vector<TensorView> views;
  return size(args_of(bound, candidate.tactic, &views));
}

// Places for shapes up to opt are worth it where they take this part of the arena at most.
constexpr double kWorthPlaces = 0.9;

// One program: its storages, tensors and steps, then the arena.
class ProgramEmitter {
 public:
  // `region_of`: receives the region of every body, by the number of its graph.
  ProgramEmitter(const Graph& graph, const Box& box, const Box* up_to_opt, ExpressionTable* expressions,
                 PlanModel* plan, std::map<int32_t, uint32_t>* region_of)
      : root_(graph),
        box_(box),
        up_to_opt_(up_to_opt),
        expressions_(*expressions),
        plan_(*plan),
        region_of_(*region_of) {}

  // `steps`: those of bodies behind the step that runs them.
  ProgramModel emit(const std::vector<PlannedStep>& steps, const std::vector<uint32_t>& kernels) {
    steps_ = &steps;
    kernels_ = &kernels;
    program_.steps = emit_region(root_);
    place_in_arena();
    return std::move(program_);
  }

  uint64_t lower_bound() const { return lower_bound_; }

 private:
  // A value of the graph or of one of its bodies.
  using Key = std::pair<const Graph*, ValueId>;
  // Where a value without a view begins.
  struct Base {
    uint32_t storage = 0;
    ir::Dim offset = 0;
  };

  std::vector<planfmt::StepModel> emit_region(const Graph& graph) {
    const std::vector<NodeId> nodes = steps_of(graph);
    const std::vector<std::vector<std::string>> names = onnx_names(graph, nodes);
    std::vector<planfmt::StepModel> region;
    for (size_t i = 0; i < nodes.size(); ++i) {
      graph_ = &graph;
      const size_t index = next_step_++;
      const Node& node = graph.node(nodes[i]);
      planfmt::StepModel model = is_control(node.kind) ? emit_control(node) : emit_step(node, (*steps_)[index]);
      model.op = static_cast<uint8_t>(node.kind);
      model.name = node.name;
      model.kernel = (*kernels_)[index];
      model.onnx = names[i];
      region.push_back(std::move(model));
    }
    return region;
  }

  // ---- Control flow: bodies work where the values around them lie

  planfmt::StepModel emit_control(const Node& node) {
    const Graph& graph = *graph_;
    planfmt::StepModel model;
    if (node.kind == OpKind::kIf) {
      model.inputs = {tensor(node.inputs[0])};
    } else {
      const bool has_condition = node.as<ir::LoopParams>().has_condition != 0;
      model.inputs = {tensor(node.inputs[0]), has_condition ? tensor(node.inputs[1]) : -1};
      model.outputs = {tensor(node.outputs[0])};
      model.results = {{static_cast<uint32_t>(ir::iteration_of(node)), 0, 0}};
    }
    model.core_inputs = static_cast<uint32_t>(model.inputs.size());
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      graph_ = &graph;
      bind_body(node, i);
      program_.bodies.emplace_back();
      const size_t index = program_.bodies.size();  // region 0 is the program's own
      model.regions.push_back(static_cast<uint32_t>(index));
      region_of_[node.bodies[i]->number()] = static_cast<uint32_t>(index);
      std::vector<planfmt::StepModel> body = emit_region(*node.bodies[i]);
      program_.bodies[index - 1] = std::move(body);
    }
    graph_ = &graph;
    return model;
  }

  void bind_body(const Node& node, size_t index) {
    const Graph& body = *node.bodies[index];
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      bases_[{&body, body.inputs[i]}] = base_of_view(ir::value_behind(node, index, i));
    }
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      Base base = base_of_view(node.outputs[ir::result_of(node, i)]);
      if (node.kind == OpKind::kLoop && !is_carried(node, i)) {
        const ir::Dim iteration = root_.expr_pool()->symbol(iteration_of(node));
        base.offset = base.offset + iteration * product(body.value(body.outputs[i]).dims);
      }
      bases_[{&body, body.outputs[i]}] = base;
    }
  }

  planfmt::StepModel emit_step(const Node& node, const PlannedStep& step) {
    const KernelDescriptor& kernel = *step.choice.candidate.kernel;
    planfmt::StepModel model;
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
    if (const uint64_t bytes = largest(kernel.workspace_size, step.largest, step.choice.candidate); bytes > 0) {
      if (bytes >= planfmt::kMaxBytes) {
        throw Error(StatusCode::kResource, "layer " + node.name + ": its kernel " + kernel.name +
                                               " wants more workspace than an address space holds; lower the shapes");
      }
      uint64_t at_opt = 0;
      if (up_to_opt_ != nullptr) {
        at_opt = largest(kernel.workspace_size, make_largest_spec(*graph_, node, *up_to_opt_), step.choice.candidate);
      }
      model.workspace = static_cast<int32_t>(add_arena_storage(bytes, at_opt));
    }
    program_.scratch_per_worker =
        std::max(program_.scratch_per_worker,
                 align_up(largest(kernel.scratch_size, step.largest, step.choice.candidate), kScratchAlignment));
    program_.isa = std::max(program_.isa, static_cast<uint8_t>(kernel.isa));
    model.time_us = step.choice.time_us;
    if (node.kind == OpKind::kReadValues) model.results = results_of(node.outputs[0]);
    return model;
  }

  // By their numbers in the pool; take() gives them those of the plan.
  std::vector<planfmt::StepResultModel> results_of(ValueId value) const {
    std::vector<planfmt::StepResultModel> results;
    const std::vector<ir::Symbol>& symbols = graph_->expr_pool()->symbols();
    for (size_t i = 0; i < symbols.size(); ++i) {
      const ir::Symbol& symbol = symbols[i];
      if (symbol.origin != ir::SymbolOrigin::kStepResult || symbol.source != value) continue;
      if (symbol.graph != graph_->number()) continue;
      results.push_back({static_cast<uint32_t>(i), 0, static_cast<uint32_t>(symbol.element)});
    }
    return results;
  }

  // ---- Tensors

  int32_t tensor(ValueId id) {
    if (id == kNone) return -1;
    const auto [entry, is_new] = tensors_.try_emplace({graph_, id});
    if (is_new) entry->second = add_tensor(id, base_of_view(id));
    return entry->second;
  }

  // Dims only: the elements are in the step's packed weights.
  int32_t packed_tensor(ValueId id) {
    if (id == kNone) return -1;
    const auto [entry, is_new] = packed_tensors_.try_emplace({graph_, id});
    if (is_new) {
      if (!none_storage_) none_storage_ = add_storage({});
      entry->second = add_tensor(id, {*none_storage_, placement_of(*graph_, id).offset});
    }
    return entry->second;
  }

  int32_t add_tensor(ValueId id, const Base& base) {
    const ir::Value& value = graph_->value(id);
    planfmt::TensorModel model;
    model.storage = base.storage;
    model.dtype = value.dtype;
    model.dims = expressions_.add(value.dims);
    model.strides = expressions_.add(placement_of(*graph_, id).strides);
    model.offset = expressions_.add(base.offset);
    model.name = value.name;
    program_.tensors.push_back(std::move(model));
    return static_cast<int32_t>(program_.tensors.size() - 1);
  }

  // ---- Storages

  // Where a value of the graph at hand begins.
  Base base_of_view(ValueId id) {
    const Placement place = placement_of(*graph_, id);
    const auto [entry, is_new] = bases_.try_emplace({graph_, place.storage});
    if (is_new) entry->second = {make_storage(graph_->value(place.storage)), 0};
    return {entry->second.storage, entry->second.offset + place.offset};
  }

  uint32_t make_storage(const ir::Value& base) {
    if (base.is_constant()) {
      SharedBytes bytes = placed_elements(base);
      const uint64_t size = bytes->size();
      return add_storage({StorageKind::kWeights, plan_.weights.add(std::move(bytes)), 0, size});
    }
    const uint64_t size = box_.bytes_at_most(*graph_, base);
    if (const int64_t binding = binding_of(base); binding >= 0) {
      return add_storage({StorageKind::kBinding, static_cast<uint32_t>(binding), 0, size});
    }
    return add_arena_storage(size, up_to_opt_ == nullptr ? 0 : up_to_opt_->bytes_at_most(*graph_, base));
  }

  // -1 for what is no buffer of the caller's; those of bodies were bound before.
  int64_t binding_of(const ir::Value& base) const {
    if (graph_ != &root_) return -1;
    const auto input = std::find(root_.inputs.begin(), root_.inputs.end(), base.id);
    if (input != root_.inputs.end()) return input - root_.inputs.begin();
    const auto output = std::find(root_.outputs.begin(), root_.outputs.end(), base.id);
    if (output == root_.outputs.end()) return -1;
    return static_cast<int64_t>(root_.inputs.size()) + (output - root_.outputs.begin());
  }

  uint32_t add_storage(const StorageModel& model) {
    program_.storages.push_back(model);
    return static_cast<uint32_t>(program_.storages.size() - 1);
  }

  // `at_opt`: what it holds at most at shapes up to opt.
  uint32_t add_arena_storage(uint64_t size, uint64_t at_opt) {
    StorageModel storage = {StorageKind::kArena, 0, 0, size};
    storage.opt_size = std::min(size, at_opt);
    return add_storage(storage);
  }

  void place_in_arena() {
    const std::vector<planfmt::StorageLife> lives = storage_lives(program_);
    const auto plan = [&](uint64_t StorageModel::*size, uint64_t StorageModel::*offset) {
      std::vector<BufferLife> buffers(lives.size());  // storages outside the arena have size 0
      for (size_t i = 0; i < lives.size(); ++i) {
        if (program_.storages[i].kind != StorageKind::kArena) continue;
        buffers[i] = {program_.storages[i].*size, static_cast<int32_t>(lives[i].first),
                      static_cast<int32_t>(lives[i].last)};
      }
      const MemoryPlan memory = plan_memory(buffers);
      for (size_t i = 0; i < program_.storages.size(); ++i) {
        if (program_.storages[i].kind == StorageKind::kArena) program_.storages[i].*offset = memory.offsets[i];
      }
      return memory;
    };
    const MemoryPlan memory = plan(&StorageModel::size, &StorageModel::offset);
    program_.arena_size = memory.arena_size;
    lower_bound_ = memory.lower_bound;
    if (up_to_opt_ == nullptr) return;
    const uint64_t at_opt = plan(&StorageModel::opt_size, &StorageModel::opt_offset).arena_size;
    program_.has_opt_places = static_cast<double>(at_opt) <= kWorthPlaces * static_cast<double>(program_.arena_size);
  }

  const Graph& root_;
  const Graph* graph_ = nullptr;  // the one whose nodes are being emitted
  const Box& box_;
  const Box* up_to_opt_;  // null: no places for those shapes
  ExpressionTable& expressions_;
  PlanModel& plan_;
  std::map<int32_t, uint32_t>& region_of_;
  ProgramModel program_;
  const std::vector<PlannedStep>* steps_ = nullptr;
  const std::vector<uint32_t>* kernels_ = nullptr;
  size_t next_step_ = 0;
  std::map<Key, int32_t> tensors_, packed_tensors_;
  std::map<Key, Base> bases_;
  std::optional<uint32_t> none_storage_;
  uint64_t lower_bound_ = 0;
};

// Results name symbols of the graph's pool until all expressions are known; those that none uses are left out.
void number_results(const std::vector<int64_t>& index_of, std::vector<planfmt::StepModel>* steps) {
  for (planfmt::StepModel& step : *steps) {
    std::erase_if(step.results, [&](const planfmt::StepResultModel& result) { return index_of[result.symbol] < 0; });
    for (planfmt::StepResultModel& result : step.results)
      result.symbol = static_cast<uint32_t>(index_of[result.symbol]);
  }
}

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
    branch_of_guard_.push_back(guard.branch);
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

ProgramStats PlanEmitter::add_program(size_t index, const Box& box, const Box* up_to_opt,
                                      const std::vector<PlannedStep>& steps) {
  std::vector<uint32_t> kernels;
  for (const PlannedStep& step : steps) {
    const KernelDescriptor& kernel = *step.choice.candidate.kernel;
    const auto [entry, is_new] =
        kernels_.try_emplace({kernel.name, kernel.revision}, static_cast<uint32_t>(plan_.kernels.size()));
    if (is_new) plan_.kernels.push_back({kernel.name, kernel.revision});
    kernels.push_back(entry->second);
  }
  ProgramEmitter emitter(graph_, box, up_to_opt, &expressions_, &plan_, &region_of_);
  ProgramModel program = emitter.emit(steps, kernels);
  program.profile = static_cast<uint32_t>(index);

  const uint64_t scratch = program.scratch_per_worker * static_cast<uint64_t>(plan_.threads);
  ProgramStats stats;
  stats.arena_bytes = program.arena_size + scratch;
  stats.arena_lower_bound = emitter.lower_bound() + scratch;
  stats.steps = static_cast<int>(sequence_of(program).steps.size());
  plan_.programs.push_back(std::move(program));
  return stats;
}

PlanModel PlanEmitter::take() {
  // Regions are numbered alike in every program.
  for (size_t i = 0; i < plan_.guards.size(); ++i) {
    if (const auto region = region_of_.find(branch_of_guard_[i]); region != region_of_.end()) {
      plan_.guards[i].region = region->second;
    }
  }
  std::vector<int64_t> index_of;
  plan_.expressions = expressions_.to_models(graph_.expr_pool()->symbols(), &plan_.symbols, &index_of);
  for (planfmt::ProgramModel& program : plan_.programs) {
    number_results(index_of, &program.steps);
    for (std::vector<planfmt::StepModel>& body : program.bodies) number_results(index_of, &body);
  }
  return std::move(plan_);
}

}  // namespace planwright::builder
