#include "loader/schedule.h"

#include <algorithm>
#include <cstring>

namespace planwright::loader {
namespace {

using planfmt::OperandFacts;
using planfmt::StepFacts;
using planfmt::StepNeeds;

bool writes_nothing(const StepFacts& facts) {
  for (int32_t i = 0; i < facts.output_count; ++i) {
    if (facts.outputs[i].begin != facts.outputs[i].end) return false;
  }
  return true;
}

}  // namespace

Status Schedule::prepare(const pw_engine& engine, const plan::Program& program, const planfmt::Stages& stages) {
  engine_ = &engine;
  program_ = &program;
  list_ = &stages.steps();
  bound_count_ = 0;
  const planfmt::StepList& steps = *list_;
  PW_RETURN_IF_ERROR(reader_.prepare(engine.plan(), program));
  PW_RETURN_IF_ERROR(steps_.allocate(steps.size()));
  PW_RETURN_IF_ERROR(stages_.allocate(steps.size()));
  PW_RETURN_IF_ERROR(by_stage_.allocate(steps.size()));
  uint32_t operands = 0, scalars = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = steps[i];
    steps_[i].first_view = operands;
    steps_[i].first_scalar = scalars;
    stages_[i] = stages.of_step(step);
    by_stage_[i] = i;
    operands += step.inputs()->size() + step.outputs()->size();
    if (step.scalars() != nullptr) scalars += step.scalars()->size();
  }
  std::sort(by_stage_.begin(), by_stage_.end(),
            [&](uint32_t a, uint32_t b) { return stages_[a] != stages_[b] ? stages_[a] < stages_[b] : a < b; });
  PW_RETURN_IF_ERROR(views_.allocate(operands));
  PW_RETURN_IF_ERROR(begins_.allocate(operands));
  PW_RETURN_IF_ERROR(scalars_.allocate(scalars));
  PW_RETURN_IF_ERROR(bound_.allocate(operands));
  for (uint32_t i = 0; i < steps.size(); ++i) find_bound(steps[i], steps_[i].first_view);
  return kOkStatus;
}

void Schedule::find_bound(const plan::Step& step, uint32_t first_view) {
  uint32_t view = first_view;
  for (const auto* tensors : {step.inputs(), step.outputs()}) {
    for (const int32_t tensor : *tensors) {
      if (tensor >= 0) {
        const uint32_t index = program_->tensors()->Get(static_cast<uint32_t>(tensor))->storage();
        const plan::Storage& storage = *program_->storages()->Get(index);
        if (storage.kind() == plan::StorageKind::Binding) bound_[bound_count_++] = {view, storage.index()};
      }
      ++view;
    }
  }
}

Status Schedule::place(const planfmt::ShapeValues& shapes, planfmt::Stage stage, const ContextMemory& memory) {
  const uint32_t* first =
      std::lower_bound(by_stage_.begin(), by_stage_.end(), stage,
                       [&](uint32_t step, planfmt::Stage wanted) { return stages_[step] < wanted; });
  for (; first != by_stage_.end() && stages_[*first] == stage; ++first) {
    const Status status = place_again(*first, shapes, memory);
    steps_[*first].left_out = !status.ok();
    if (!status.ok() && !is_in_branch(*first)) return status;
  }
  return kOkStatus;
}

Status Schedule::place_again(size_t step, const planfmt::ShapeValues& shapes, const ContextMemory& memory) {
  const plan::Step& planned = (*list_)[static_cast<uint32_t>(step)];
  const Status status = place_step(planned, shapes.values(), memory, &steps_[step]);
  if (status.ok()) return kOkStatus;
  return error_context(status, "layer %s cannot run at these shapes: ", planned.name()->c_str());
}

bool Schedule::is_in_branch(uint32_t step) const {
  uint32_t owner = list_->nesting(step).owner;
  while (owner != planfmt::kNoStep && list_->bodies(owner) < 2) owner = list_->nesting(owner).owner;
  return owner != planfmt::kNoStep;
}

Status Schedule::place_step(const plan::Step& step, const int64_t* values, const ContextMemory& memory, Step* entry) {
  const KernelDescriptor& kernel = engine_->kernel(step);
  StepFacts facts;
  StepNeeds needs;
  PW_RETURN_IF_ERROR(reader_.read(step, values, &facts));
  if (facts.scalar_count > 0) {
    // The reader's own go with its next step.
    int64_t* scalars = scalars_.data() + entry->first_scalar;
    memcpy(scalars, facts.scalars, static_cast<size_t>(facts.scalar_count) * sizeof *scalars);
    facts.scalars = scalars;
  }
  KernelArgs& args = entry->args;
  fill_args(kernel, facts, views_.data() + entry->first_view, &args);
  PW_RETURN_IF_ERROR(check_args(kernel, facts, args, &needs));
  PW_RETURN_IF_ERROR(reader_.check_needs(step, needs));

  entry->run = kernel.run;
  entry->empty = writes_nothing(facts);
  uint32_t view = entry->first_view;
  for (int32_t i = 0; i < facts.input_count; ++i) point(facts.inputs[i], memory, view++);
  for (int32_t i = 0; i < facts.output_count; ++i) point(facts.outputs[i], memory, view++);
  if (step.packed() >= 0) {
    const plan::Blob& blob = *engine_->plan().weights()->Get(static_cast<uint32_t>(step.packed()));
    args.packed = engine_->file.weights() + blob.offset();
    args.packed_size = blob.size();
  }
  if (step.workspace() >= 0) {
    const auto storage = static_cast<uint32_t>(step.workspace());
    args.workspace = memory.arena + reader_.places().offset(storage);
    args.workspace_size = reader_.places().size(storage);
  }
  args.scratch = memory.scratch;
  args.scratch_stride = memory.scratch_stride;
  args.executor = memory.executor;
  return kOkStatus;
}

void Schedule::point(const OperandFacts& facts, const ContextMemory& memory, uint32_t view) {
  begins_[view] = facts.begin;
  if (facts.absent || !facts.has_data) return;
  const plan::Storage& storage = *program_->storages()->Get(facts.storage);
  switch (storage.kind()) {
    case plan::StorageKind::Arena:
      views_[view].data = memory.arena + reader_.places().offset(facts.storage) + facts.begin;
      break;
    case plan::StorageKind::Weights:
      // Kernels write outputs only, which are never here.
      views_[view].data = const_cast<std::byte*>(engine_->file.weights()) +
                          engine_->plan().weights()->Get(storage.index())->offset() + facts.begin;
      break;
    case plan::StorageKind::Binding: break;  // bind() does
    case plan::StorageKind::None: break;
  }
}

void Schedule::bind(const Buffer* buffers) {
  for (size_t i = 0; i < bound_count_; ++i) {
    const Bound& bound = bound_[i];
    auto* data = static_cast<std::byte*>(buffers[bound.binding].data);
    // What has no elements may have no buffer.
    views_[bound.view].data = data == nullptr ? nullptr : data + begins_[bound.view];
  }
}

Status Schedule::read_result(size_t step, const plan::StepResult& result, int64_t* value) const {
  const TensorView& view = steps_[step].args.outputs[result.output()];
  int64_t offset = 0, rest = result.element();
  for (int32_t axis = view.rank; axis-- > 0 && view.dims[axis] > 0;) {
    offset += rest % view.dims[axis] * view.strides[axis];
    rest /= view.dims[axis];
  }
  if (rest != 0 || element_count(view) == 0) {
    return error(StatusCode::kPrecondition, "it computes no element %u, which a shape depends on", result.element());
  }
  *value = view.dtype == DType::kI64 ? view.as<const int64_t>()[offset] : view.as<const int32_t>()[offset];
  return kOkStatus;
}

int64_t Schedule::trip_count(size_t step) const {
  const TensorView& count = steps_[step].args.inputs[0];
  return count.absent ? INT64_MAX : *count.as<const int64_t>();
}

bool Schedule::goes_on(size_t step) const {
  const TensorView& condition = steps_[step].args.inputs[1];
  return condition.absent || *condition.as<const uint8_t>() != 0;
}

}  // namespace planwright::loader
