#include "planfmt/header.h"
#include "planfmt/limits.h"
#include "planfmt/stages.h"
#include "planfmt/verify_parts.h"

namespace planwright::planfmt {
namespace {

unsigned long long printable(uint64_t value) { return value; }

bool in_expressions(const plan::Plan& plan, const flatbuffers::Vector<uint32_t>& list) {
  for (const uint32_t index : list) {
    if (index >= plan.expressions()->size()) return false;
  }
  return true;
}

Status spend(uint64_t* budget, uint64_t elements) {
  if (elements > *budget)
    return error(StatusCode::kCorrupt, "the plan's tables share lists, which a builder never does");
  *budget -= elements;
  return kOkStatus;
}

Status verify_storage(const plan::Plan& plan, const plan::Program& program, uint32_t index) {
  const plan::Storage& storage = *program.storages()->Get(index);
  bool sound = false;
  switch (storage.kind()) {
    case plan::StorageKind::None: sound = true; break;
    case plan::StorageKind::Arena:
      sound =
          storage.offset() % kBlobAlignment == 0 && in_range(storage.offset(), storage.size(), program.arena_size());
      break;
    case plan::StorageKind::Weights: sound = storage.index() < plan.weights()->size(); break;
    case plan::StorageKind::Binding: sound = storage.index() < plan.bindings()->size(); break;
  }
  if (sound) return kOkStatus;
  return error(StatusCode::kCorrupt, "storage %u (kind %u, index %u, bytes %llu, size %llu) is not there", index,
               static_cast<unsigned>(storage.kind()), storage.index(), printable(storage.offset()),
               printable(storage.size()));
}

// Where storages lie at shapes up to opt is as sound as where they always lie. The shapes decide whether operands fit.
Status verify_opt_places(const plan::Program& program) {
  if (program.opt_places() == nullptr) return kOkStatus;
  if (!is_aligned(*program.opt_places(), alignof(plan::Place))) {
    return error(StatusCode::kCorrupt, "a program's places for shapes up to opt are not aligned");
  }
  if (program.opt_places()->size() != program.storages()->size()) {
    return error(StatusCode::kCorrupt, "%u storages have %u places for shapes up to opt", program.storages()->size(),
                 program.opt_places()->size());
  }
  for (uint32_t i = 0; i < program.storages()->size(); ++i) {
    if (program.storages()->Get(i)->kind() != plan::StorageKind::Arena) continue;
    const plan::Place& place = *program.opt_places()->Get(i);
    if (place.offset() % kBlobAlignment == 0 && in_range(place.offset(), place.size(), program.arena_size())) continue;
    return error(StatusCode::kCorrupt, "storage %u has no place for shapes up to opt (bytes %llu, size %llu)", i,
                 printable(place.offset()), printable(place.size()));
  }
  return kOkStatus;
}

// One storage a binding, so that the lifetimes of two cannot be those of one buffer.
Status verify_binding_storages(const plan::Plan& plan, const plan::Program& program) {
  Array<uint8_t> seen;
  PW_RETURN_IF_ERROR(seen.allocate(plan.bindings()->size()));
  for (uint32_t i = 0; i < program.storages()->size(); ++i) {
    const plan::Storage& storage = *program.storages()->Get(i);
    if (storage.kind() != plan::StorageKind::Binding) continue;
    if (seen[storage.index()]++ != 0) {
      return error(StatusCode::kCorrupt, "storage %u is the second of binding %s", i,
                   plan.bindings()->Get(storage.index())->name()->c_str());
    }
  }
  return kOkStatus;
}

Status verify_tensor(const plan::Plan& plan, const plan::Program& program, uint32_t index) {
  const plan::Tensor& tensor = *program.tensors()->Get(index);
  if (tensor.storage() >= program.storages()->size() || !is_valid(static_cast<DType>(tensor.dtype())) ||
      tensor.dims()->size() > kMaxRank || tensor.strides()->size() != tensor.dims()->size() ||
      !in_expressions(plan, *tensor.dims()) || !in_expressions(plan, *tensor.strides()) ||
      tensor.offset() >= plan.expressions()->size()) {
    return error(StatusCode::kCorrupt, "tensor %u has a type, rank, storage or expression that is not there", index);
  }
  const plan::Storage& storage = *program.storages()->Get(tensor.storage());
  if (storage.kind() == plan::StorageKind::Binding &&
      plan.bindings()->Get(storage.index())->dtype() != tensor.dtype()) {
    // The caller promises alignment to the binding's element only.
    return error(StatusCode::kCorrupt, "tensor %u reads binding %s as another type", index,
                 plan.bindings()->Get(storage.index())->name()->c_str());
  }
  return kOkStatus;
}

// Whether symbols may be its elements.
bool is_index(const plan::Tensor& tensor) {
  return static_cast<DType>(tensor.dtype()) == DType::kI64 || static_cast<DType>(tensor.dtype()) == DType::kI32;
}

// A step may write the arena and outputs, nothing else.
bool is_writable(const plan::Plan& plan, const plan::Storage& storage) {
  return storage.kind() == plan::StorageKind::Arena ||
         (storage.kind() == plan::StorageKind::Binding &&
          plan.bindings()->Get(storage.index())->kind() == plan::BindingKind::Output);
}

Status verify_operands(const plan::Plan& plan, const plan::Program& program, const plan::Step& step) {
  const auto count = static_cast<int64_t>(program.tensors()->size());
  for (const int32_t input : *step.inputs()) {
    if (input < -1 || input >= count) return error(StatusCode::kCorrupt, "input tensor %d is not there", input);
  }
  for (const int32_t output : *step.outputs()) {
    if (output < -1 || output >= count) return error(StatusCode::kCorrupt, "output tensor %d is not there", output);
    if (output < 0) continue;
    const uint32_t storage = program.tensors()->Get(static_cast<uint32_t>(output))->storage();
    if (!is_writable(plan, *program.storages()->Get(storage))) {
      return error(StatusCode::kCorrupt, "output tensor %d is not in the arena or an output binding", output);
    }
  }
  if (step.core_inputs() > step.inputs()->size()) {
    return error(StatusCode::kCorrupt, "%u of %u inputs are said to be the operator's own", step.core_inputs(),
                 step.inputs()->size());
  }
  return kOkStatus;
}

// Kernels read params and programs as structs of theirs.
bool may_be_read(const flatbuffers::Vector<uint8_t>* bytes) { return bytes == nullptr || is_aligned(*bytes, 8); }

Status verify_memory(const plan::Plan& plan, const plan::Program& program, const plan::Step& step) {
  if (step.packed() < -1 || step.packed() >= static_cast<int64_t>(plan.weights()->size())) {
    return error(StatusCode::kCorrupt, "packed weights %d are not there", step.packed());
  }
  if (step.workspace() < -1 || step.workspace() >= static_cast<int64_t>(program.storages()->size()) ||
      (step.workspace() >= 0 &&
       program.storages()->Get(static_cast<uint32_t>(step.workspace()))->kind() != plan::StorageKind::Arena)) {
    return error(StatusCode::kCorrupt, "workspace %d is no storage of the arena", step.workspace());
  }
  return kOkStatus;
}

Status verify_step(const plan::Plan& plan, const plan::Program& program, const plan::Step& step, uint64_t* budget) {
  const uint64_t operands = uint64_t{step.inputs()->size()} + step.outputs()->size();
  const uint32_t scalars = step.scalars() == nullptr ? 0 : step.scalars()->size();
  const uint32_t nodes = step.onnx() == nullptr ? 0 : step.onnx()->size();
  const uint32_t results = step.results() == nullptr ? 0 : step.results()->size();
  PW_RETURN_IF_ERROR(spend(budget, operands + scalars + nodes + 3 * uint64_t{results}));
  if (operands > kMaxStepOperands || scalars > kMaxStepScalars) {
    return error(StatusCode::kCorrupt, "has %llu operands and %u scalars; at most %u and %u are allowed",
                 printable(operands), scalars, kMaxStepOperands, kMaxStepScalars);
  }
  PW_RETURN_IF_ERROR(verify_operands(plan, program, step));
  PW_RETURN_IF_ERROR(verify_memory(plan, program, step));
  if (step.kernel() >= plan.kernels()->size()) {
    return error(StatusCode::kCorrupt, "kernel %u is not there", step.kernel());
  }
  if (scalars > 0 && !in_expressions(plan, *step.scalars())) {
    return error(StatusCode::kCorrupt, "a scalar is no expression");
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    if (step.onnx()->Get(i) >= plan.nodes()->size()) return error(StatusCode::kCorrupt, "an ONNX node is not there");
  }
  if (!may_be_read(step.params()) || !may_be_read(step.program()) || step.tactic() == nullptr) {
    return error(StatusCode::kCorrupt, "params, program or tactic are missing or not aligned");
  }
  return kOkStatus;
}

// That each symbol which is a step's result has exactly one step, which has such an output.
Status verify_results(const plan::Plan& plan, const plan::Program& program, const StepList& steps) {
  Array<uint8_t> found;
  PW_RETURN_IF_ERROR(found.allocate(plan.symbols()->size()));
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = steps[i];
    if (step.results() == nullptr) continue;
    for (const plan::StepResult* result : *step.results()) {
      const int32_t tensor = result->output() < step.outputs()->size() ? step.outputs()->Get(result->output()) : -1;
      const bool sound = result->symbol() < plan.symbols()->size() && found[result->symbol()]++ == 0 &&
                         plan.symbols()->Get(result->symbol())->origin() == plan::SymbolOrigin::StepResult &&
                         tensor >= 0 && is_index(*program.tensors()->Get(static_cast<uint32_t>(tensor)));
      if (!sound) {
        return error(StatusCode::kCorrupt, "step %u (layer %s): its result %u is no symbol's, or no integer", i,
                     step.name()->c_str(), result->symbol());
      }
    }
  }
  for (uint32_t i = 0; i < plan.symbols()->size(); ++i) {
    if (plan.symbols()->Get(i)->origin() == plan::SymbolOrigin::StepResult && found[i] == 0) {
      return error(StatusCode::kCorrupt, "no step of a program gives symbol %u its value", i);
    }
  }
  return kOkStatus;
}

// That no step needs what only it, a later one or one that may not run makes known.
Status verify_stages(const plan::Plan& plan, const plan::Program& program) {
  Stages stages;
  PW_RETURN_IF_ERROR(stages.prepare(plan, program));
  const StepList& steps = stages.steps();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Stage stage = stages.of_step(steps[i]);
    if (stage > kValuesStage && !steps.follows(i, step_of(stage))) {
      return error(StatusCode::kCorrupt, "step %u (layer %s) needs a result that is not there yet", i,
                   steps[i].name()->c_str());
    }
  }
  for (const plan::Binding* binding : *plan.bindings()) {
    const Stage stage = stages.of_binding(*binding);
    const bool is_result = stage > kValuesStage;
    if (is_result && (steps.nesting(step_of(stage)).owner != kNoStep || steps.bodies(step_of(stage)) > 0)) {
      return error(StatusCode::kCorrupt, "the dims of %s depend on what a step's body makes known",
                   binding->name()->c_str());
    }
    if (binding->kind() == plan::BindingKind::Input && stages.of_binding(*binding) != kDimsStage) {
      return error(StatusCode::kCorrupt, "the dims of input %s depend on values", binding->name()->c_str());
    }
  }
  return kOkStatus;
}

}  // namespace

Status verify_program(const plan::Plan& plan, const plan::Program& program, uint64_t* budget) {
  if (program.profile() >= plan.profiles()->size()) {
    return error(StatusCode::kCorrupt, "a program is for profile %u of %u", program.profile(), plan.profiles()->size());
  }
  if (program.arena_size() > kMaxBytes || program.scratch_per_worker() > kMaxBytes) {
    return error(StatusCode::kResource,
                 "the engine asks for %llu bytes of arena and %llu of scratch a thread, more than an address space "
                 "holds",
                 printable(program.arena_size()), printable(program.scratch_per_worker()));
  }
  if (program.storages()->size() > kMaxStorages) {
    return error(StatusCode::kCorrupt, "a program has %u storages, more than the %u allowed",
                 program.storages()->size(), kMaxStorages);
  }
  if (!is_aligned(*program.storages(), alignof(plan::Storage))) {
    return error(StatusCode::kCorrupt, "a program's storages are not aligned");
  }
  for (uint32_t i = 0; i < program.storages()->size(); ++i) PW_RETURN_IF_ERROR(verify_storage(plan, program, i));
  PW_RETURN_IF_ERROR(verify_binding_storages(plan, program));
  PW_RETURN_IF_ERROR(verify_opt_places(program));
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) PW_RETURN_IF_ERROR(verify_tensor(plan, program, i));
  StepList steps;
  PW_RETURN_IF_ERROR(steps.prepare(program));
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Status status = verify_step(plan, program, steps[i], budget);
    if (!status.ok()) return error_context(status, "step %u (layer %s): ", i, steps[i].name()->c_str());
  }
  PW_RETURN_IF_ERROR(verify_results(plan, program, steps));
  return verify_stages(plan, program);
}

}  // namespace planwright::planfmt
