#include "planfmt/step_reader.h"

#include "planfmt/header.h"
#include "schemas/types/checked.h"

namespace planwright::planfmt {
namespace {

unsigned long long printable(uint64_t value) { return value; }

const char* name_of(const plan::Tensor& tensor) {
  return tensor.name() != nullptr && tensor.name()->size() > 0 ? tensor.name()->c_str() : "(unnamed)";
}

// Sets where a view's elements lie in its storage. False on overflow, where a number is negative, or where the view has
// more elements than memory could, repeated ones (stride 0) included: kernels multiply its dims to sizes.
bool set_extent(int64_t offset, OperandFacts* operand) {
  OperandFacts& view = *operand;
  if (offset < 0) return false;
  const auto element = static_cast<int64_t>(size_of(view.dtype));
  bool empty = false;
  int64_t last = offset, bytes = element;
  for (int32_t axis = 0; axis < view.rank; ++axis) {
    if (view.dims[axis] < 0 || view.strides[axis] < 0) return false;
    empty |= view.dims[axis] == 0;
  }
  for (int32_t axis = 0; axis < view.rank && !empty; ++axis) {
    int64_t reach;
    if (!checked_mul(view.dims[axis] - 1, view.strides[axis], &reach) || !checked_add(last, reach, &last)) return false;
    if (!checked_mul(bytes, view.dims[axis], &bytes)) return false;
  }
  if (bytes > static_cast<int64_t>(kMaxBytes) || last > static_cast<int64_t>(kMaxBytes)) return false;
  // An empty view lies nowhere: its offset may point past a storage that is empty too.
  view.begin = empty ? 0 : static_cast<uint64_t>(offset * element);
  view.end = empty ? 0 : static_cast<uint64_t>((last + 1) * element);
  return true;
}

}  // namespace

Status binding_bytes(const plan::Binding& binding, const int64_t* values, uint64_t* bytes) {
  uint64_t total = size_of(static_cast<DType>(binding.dtype()));
  for (uint32_t axis = 0; axis < binding.dims()->size(); ++axis) {
    const int64_t dim = values[binding.dims()->Get(axis)];
    if (dim < 0 || !checked_mul(total, static_cast<uint64_t>(dim), &total)) {
      return error(StatusCode::kInvalid, "dim %u of %s would be %lld at these shapes, its size is out of range", axis,
                   binding.name()->c_str(), static_cast<long long>(dim));
    }
  }
  *bytes = total;
  return kOkStatus;
}

Status StepReader::prepare(const plan::Plan& plan, const plan::Program& program) {
  plan_ = &plan;
  program_ = &program;
  places_ = ArenaPlaces(program, false);
  size_t operands = 0, scalars = 0;
  for (const plan::Region* region : *program.regions()) {
    for (const plan::Step* step : *region->steps()) {
      const size_t count = size_t{step->inputs()->size()} + step->outputs()->size();
      if (count > operands) operands = count;
      if (step->scalars() != nullptr && step->scalars()->size() > scalars) scalars = step->scalars()->size();
    }
  }
  PW_RETURN_IF_ERROR(operands_.allocate(operands));
  return scalars_.allocate(scalars);
}

Status StepReader::storage_bytes(uint32_t index, const int64_t* values, uint64_t* bytes) const {
  const plan::Storage& storage = *program_->storages()->Get(index);
  switch (storage.kind()) {
    case plan::StorageKind::Arena: *bytes = places_.size(index); return kOkStatus;
    case plan::StorageKind::Weights: *bytes = plan_->weights()->Get(storage.index())->size(); return kOkStatus;
    case plan::StorageKind::Binding: return binding_bytes(*plan_->bindings()->Get(storage.index()), values, bytes);
    case plan::StorageKind::None: break;
  }
  *bytes = 0;
  return kOkStatus;
}

Status StepReader::read_tensor(const plan::Tensor& tensor, const int64_t* values, OperandFacts* operand) const {
  const plan::Storage& storage = *program_->storages()->Get(tensor.storage());
  *operand = {};
  operand->has_data = storage.kind() != plan::StorageKind::None;
  operand->dtype = static_cast<DType>(tensor.dtype());
  operand->rank = static_cast<int32_t>(tensor.dims()->size());
  operand->storage = tensor.storage();
  for (uint32_t axis = 0; axis < tensor.dims()->size(); ++axis) {
    operand->dims[axis] = values[tensor.dims()->Get(axis)];
    operand->strides[axis] = values[tensor.strides()->Get(axis)];
  }
  if (!set_extent(values[tensor.offset()], operand)) {
    return error(StatusCode::kCorrupt, "tensor %s has a negative or overflowing dim, stride or offset",
                 name_of(tensor));
  }
  if (!operand->has_data) return kOkStatus;
  uint64_t bytes = 0;
  PW_RETURN_IF_ERROR(storage_bytes(tensor.storage(), values, &bytes));
  if (operand->end > bytes) {
    return error(StatusCode::kCorrupt, "tensor %s ends at byte %llu of a storage of %llu", name_of(tensor),
                 printable(operand->end), printable(bytes));
  }
  return kOkStatus;
}

Status StepReader::read_operands(const flatbuffers::Vector<int32_t>& tensors, const int64_t* values,
                                 OperandFacts* operands) {
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors.Get(i) < 0) {
      operands[i] = {};
      operands[i].absent = true;
      operands[i].has_data = false;
    } else {
      PW_RETURN_IF_ERROR(
          read_tensor(*program_->tensors()->Get(static_cast<uint32_t>(tensors.Get(i))), values, &operands[i]));
    }
  }
  return kOkStatus;
}

Status StepReader::read(const plan::Step& step, const int64_t* values, StepFacts* facts) {
  *facts = {};
  facts->op = step.op();
  facts->isa = program_->isa();
  facts->bodies = step.regions() == nullptr ? 0 : static_cast<int32_t>(step.regions()->size());
  facts->inputs = operands_.data();
  facts->input_count = static_cast<int32_t>(step.inputs()->size());
  facts->core_inputs = static_cast<int32_t>(step.core_inputs());
  facts->outputs = operands_.data() + step.inputs()->size();
  facts->output_count = static_cast<int32_t>(step.outputs()->size());
  PW_RETURN_IF_ERROR(read_operands(*step.inputs(), values, operands_.data()));
  PW_RETURN_IF_ERROR(read_operands(*step.outputs(), values, operands_.data() + step.inputs()->size()));
  if (step.params() != nullptr && step.params()->size() > 0) {  // an empty list is not aligned
    facts->params = step.params()->data();
    facts->params_size = step.params()->size();
  }
  if (step.scalars() != nullptr) {
    for (uint32_t i = 0; i < step.scalars()->size(); ++i) scalars_[i] = values[step.scalars()->Get(i)];
    facts->scalars = scalars_.data();
    facts->scalar_count = static_cast<int32_t>(step.scalars()->size());
  }
  if (step.program() != nullptr && step.program()->size() > 0) {
    facts->program = step.program()->data();
    facts->program_size = step.program()->size();
  }
  facts->tactic = step.tactic()->v()->data();
  return kOkStatus;
}

Status StepReader::check_needs(const plan::Step& step, const StepNeeds& needs) const {
  const uint64_t packed = step.packed() < 0 ? 0 : plan_->weights()->Get(static_cast<uint32_t>(step.packed()))->size();
  if (needs.packed != packed) {
    return error(StatusCode::kCorrupt, "the kernel reads %zu bytes of packed weights, the plan gives it %llu",
                 needs.packed, printable(packed));
  }
  const uint64_t workspace = step.workspace() < 0 ? 0 : places_.size(static_cast<uint32_t>(step.workspace()));
  if (needs.workspace > workspace) {
    return error(StatusCode::kCorrupt, "the kernel needs a workspace of %zu bytes, the plan gives it %llu",
                 needs.workspace, printable(workspace));
  }
  if (needs.scratch > program_->scratch_per_worker()) {
    return error(StatusCode::kCorrupt, "the kernel needs %zu bytes of scratch, the plan gives it %llu", needs.scratch,
                 printable(program_->scratch_per_worker()));
  }
  return kOkStatus;
}

}  // namespace planwright::planfmt
