#include "loader/schedule.h"

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

Status Schedule::prepare(const pw_engine& engine, const plan::Program& program) {
  engine_ = &engine;
  program_ = &program;
  bound_count_ = 0;
  const auto& steps = *program.regions()->Get(0)->steps();
  size_t operands = 0, scalars = 0;
  for (const plan::Step* step : steps) {
    operands += size_t{step->inputs()->size()} + step->outputs()->size();
    if (step->scalars() != nullptr) scalars += step->scalars()->size();
  }
  PW_RETURN_IF_ERROR(reader_.prepare(engine.plan(), program));
  PW_RETURN_IF_ERROR(steps_.allocate(steps.size()));
  PW_RETURN_IF_ERROR(views_.allocate(operands));
  PW_RETURN_IF_ERROR(scalars_.allocate(scalars));
  return bound_.allocate(operands);
}

Status Schedule::place(const int64_t* values, const ContextMemory& memory) {
  const auto& steps = *program_->regions()->Get(0)->steps();
  TensorView* views = views_.data();
  int64_t* scalars = scalars_.data();
  bound_count_ = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const plan::Step& step = *steps.Get(i);
    const Status status = place_step(step, values, memory, views, scalars, &steps_[i]);
    if (!status.ok()) return error_context(status, "layer %s cannot run at these shapes: ", step.name()->c_str());
    views += step.inputs()->size() + step.outputs()->size();
    if (step.scalars() != nullptr) scalars += step.scalars()->size();
  }
  return kOkStatus;
}

Status Schedule::place_step(const plan::Step& step, const int64_t* values, const ContextMemory& memory,
                            TensorView* views, int64_t* scalars, Step* entry) {
  const KernelDescriptor& kernel = engine_->kernel(step);
  StepFacts facts;
  StepNeeds needs;
  PW_RETURN_IF_ERROR(reader_.read(step, values, &facts));
  if (facts.scalar_count > 0) {
    // The reader's own go with its next step.
    memcpy(scalars, facts.scalars, static_cast<size_t>(facts.scalar_count) * sizeof *scalars);
    facts.scalars = scalars;
  }
  KernelArgs& args = entry->args;
  fill_args(facts, views, &args);
  PW_RETURN_IF_ERROR(check_args(kernel, facts, args, &needs));
  PW_RETURN_IF_ERROR(reader_.check_needs(step, needs));

  entry->run = kernel.run;
  entry->empty = writes_nothing(facts);
  for (int32_t i = 0; i < facts.input_count; ++i) point(facts.inputs[i], memory, views + i);
  for (int32_t i = 0; i < facts.output_count; ++i) point(facts.outputs[i], memory, views + facts.input_count + i);
  if (step.packed() >= 0) {
    const plan::Blob& blob = *engine_->plan().weights()->Get(static_cast<uint32_t>(step.packed()));
    args.packed = engine_->file.weights() + blob.offset();
    args.packed_size = blob.size();
  }
  if (step.workspace() >= 0) {
    const plan::Storage& storage = *program_->storages()->Get(static_cast<uint32_t>(step.workspace()));
    args.workspace = memory.arena + storage.offset();
    args.workspace_size = storage.size();
  }
  args.scratch = memory.scratch;
  args.scratch_stride = memory.scratch_stride;
  args.executor = memory.executor;
  return kOkStatus;
}

void Schedule::point(const OperandFacts& facts, const ContextMemory& memory, TensorView* view) {
  if (facts.absent || !facts.has_data) return;
  const plan::Storage& storage = *program_->storages()->Get(facts.storage);
  switch (storage.kind()) {
    case plan::StorageKind::Arena: view->data = memory.arena + storage.offset() + facts.begin; break;
    case plan::StorageKind::Weights:
      // Kernels write outputs only, which are never here.
      view->data = const_cast<std::byte*>(engine_->file.weights()) +
                   engine_->plan().weights()->Get(storage.index())->offset() + facts.begin;
      break;
    case plan::StorageKind::Binding: bound_[bound_count_++] = {view, storage.index(), facts.begin}; break;
    case plan::StorageKind::None: break;
  }
}

void Schedule::bind(const Buffer* buffers) {
  for (size_t i = 0; i < bound_count_; ++i) {
    const Bound& bound = bound_[i];
    auto* data = static_cast<std::byte*>(buffers[bound.binding].data);
    // What has no elements may have no buffer.
    bound.view->data = data == nullptr ? nullptr : data + bound.begin;
  }
}

const char* Schedule::layer(size_t step) const {
  return program_->regions()->Get(0)->steps()->Get(static_cast<uint32_t>(step))->name()->c_str();
}

}  // namespace planwright::loader
