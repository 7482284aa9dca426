#include "loader/catalog.h"

#include "planfmt/memory.h"
#include "tactics/kernels/cpu.h"
#include "tactics/kernels/custom.h"
#include "tactics/kernels/registry.h"

namespace planwright::loader {
namespace {

using planfmt::OperandFacts;
using planfmt::StepFacts;
using planfmt::StepNeeds;

TensorView view_of(const OperandFacts& facts) {
  TensorView view;
  view.dtype = facts.dtype;
  view.rank = facts.rank;
  view.absent = facts.absent;
  for (int axis = 0; axis < facts.rank; ++axis) {
    view.dims[axis] = facts.dims[axis];
    view.strides[axis] = facts.strides[axis];
  }
  return view;
}

bool is_packed(const KernelDescriptor& kernel, int32_t input) {
  return input < 32 && (kernel.packed_inputs >> input & 1u) != 0;
}

// The kernel reads an operand's elements exactly where it has some. What may be absent, validate() knows.
Status check_packing(const KernelDescriptor& kernel, const StepFacts& facts) {
  for (int32_t i = 0; i < facts.input_count; ++i) {
    const OperandFacts& input = facts.inputs[i];
    if (!input.absent && input.has_data == is_packed(kernel, i)) {
      return error(StatusCode::kInvalid, "input %d is %s", i,
                   input.has_data ? "given plainly, but the kernel reads it packed" : "given without its elements");
    }
  }
  return kOkStatus;
}

// The input whose elements say where the operator reads or writes; -1: none.
int32_t index_input(OpKind op) {
  switch (op) {
    case OpKind::kOneHot: return 0;
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kGatherND:
    case OpKind::kScatterElements:
    case OpKind::kScatterND:
    case OpKind::kReverseSequence: return 1;
    case OpKind::kRoiAlign: return 2;
    case OpKind::kRnn: return 3;  // sequence lengths
    default: return -1;
  }
}

bool share_bytes(const OperandFacts& a, const OperandFacts& b) {
  return a.has_data && b.has_data && a.storage == b.storage && a.begin < b.end && b.begin < a.end;
}

// An index that a kernel has checked must not change before it is used; two outputs must not be one.
Status check_aliases(OpKind op, const StepFacts& facts) {
  const int32_t index = index_input(op);
  for (int32_t i = 0; i < facts.output_count; ++i) {
    if (index >= 0 && index < facts.input_count && share_bytes(facts.inputs[index], facts.outputs[i])) {
      return error(StatusCode::kInvalid, "output %d overwrites the indices in input %d", i, index);
    }
    // A plugin may check any input before it uses it, and read it again for another task.
    for (int32_t input = 0; op == OpKind::kCustom && input < facts.input_count; ++input) {
      if (share_bytes(facts.inputs[input], facts.outputs[i])) {
        return error(StatusCode::kInvalid, "output %d shares memory with input %d", i, input);
      }
    }
    for (int32_t other = 0; other < i; ++other) {
      if (share_bytes(facts.outputs[i], facts.outputs[other])) {
        return error(StatusCode::kInvalid, "outputs %d and %d share memory", other, i);
      }
    }
  }
  return kOkStatus;
}

}  // namespace

void fill_args(const KernelDescriptor& kernel, const StepFacts& facts, TensorView* views, KernelArgs* args) {
  *args = {};
  args->op = static_cast<OpKind>(facts.op);
  args->inputs = views;
  args->input_count = facts.input_count;
  args->core_inputs = facts.core_inputs;
  args->outputs = views + facts.input_count;
  args->output_count = facts.output_count;
  for (int32_t i = 0; i < facts.input_count; ++i) views[i] = view_of(facts.inputs[i]);
  for (int32_t i = 0; i < facts.output_count; ++i) views[facts.input_count + i] = view_of(facts.outputs[i]);
  args->params = facts.params;
  args->params_size = facts.params_size;
  args->scalars = facts.scalars;
  args->scalar_count = facts.scalar_count;
  args->program = static_cast<const PwInstr*>(facts.program);
  args->program_size = static_cast<int32_t>(facts.program_size / sizeof(PwInstr));
  for (int i = 0; i < 8; ++i) args->tactic.v[i] = facts.tactic[i];
  args->custom = kernel.custom;
}

Status check_args(const KernelDescriptor& kernel, const StepFacts& facts, const KernelArgs& args, StepNeeds* needs) {
  if (facts.op != static_cast<uint8_t>(kernel.op)) {
    return error(StatusCode::kInvalid, "the step is operator number %u, the kernel does %s", facts.op,
                 name_of(kernel.op));
  }
  if (static_cast<uint8_t>(kernel.isa) > facts.isa) {
    return error(StatusCode::kInvalid, "the kernel needs %s, the program promises %s only", name_of(kernel.isa),
                 name_of(static_cast<Isa>(facts.isa)));
  }
  if (facts.program_size % sizeof(PwInstr) != 0) {
    return error(StatusCode::kInvalid, "the program has %u bytes, no whole number of instructions", facts.program_size);
  }
  if (facts.bodies != bodies_of(kernel.op)) {
    return error(StatusCode::kInvalid, "the step has %d bodies, %s has %d", facts.bodies, name_of(kernel.op),
                 bodies_of(kernel.op));
  }
  PW_RETURN_IF_ERROR(check_packing(kernel, facts));
  PW_RETURN_IF_ERROR(check_aliases(kernel.op, facts));
  PW_RETURN_IF_ERROR(kernel.validate(args));
  needs->packed = kernel.packed_size != nullptr ? kernel.packed_size(args) : 0;
  needs->workspace = kernel.workspace_size != nullptr ? kernel.workspace_size(args) : 0;
  needs->scratch = kernel.scratch_size != nullptr ? kernel.scratch_size(args) : 0;
  return kOkStatus;
}

Status RegistryCatalog::check_isa(uint8_t isa) const {
  if (isa >= kIsaCount) return error(StatusCode::kCorrupt, "a program is for instruction set number %u", isa);
  if (isa > static_cast<uint8_t>(highest_)) {
    return error(StatusCode::kIncompatible,
                 "the engine needs %s instructions, this CPU has %s: build it with --isa=%s, or on this machine",
                 name_of(static_cast<Isa>(isa)), name_of(highest_), name_of(highest_));
  }
  if (!enable_isa(static_cast<Isa>(isa))) {
    return error(StatusCode::kIncompatible,
                 "the engine needs AMX, which Linux refuses this process: one of its threads has an alternative signal "
                 "stack (sigaltstack) without room for 8 KiB of tile registers; make it larger, or build with "
                 "--isa=avx512vnni");
  }
  return kOkStatus;
}

Status RegistryCatalog::find(const char* name, uint32_t revision, const void** kernel) const {
  if (is_custom_kernel(name)) {
    const KernelDescriptor* custom = nullptr;
    PW_RETURN_IF_ERROR(find_custom_kernel(name, revision, &custom));
    *kernel = custom;
    return kOkStatus;
  }
  const KernelDescriptor* found = find_kernel(name);
  if (found == nullptr) {
    return error(StatusCode::kIncompatible, "the engine needs the kernel %s, which this library does not have", name);
  }
  if (found->revision != revision) {
    return error(StatusCode::kIncompatible,
                 "the engine needs revision %u of the kernel %s, this library has %u: build the engine again", revision,
                 name, found->revision);
  }
  *kernel = found;
  return kOkStatus;
}

Status RegistryCatalog::check(const void* kernel, const StepFacts& facts, StepNeeds* needs) const {
  planfmt::Array<TensorView> views;
  PW_RETURN_IF_ERROR(views.allocate(static_cast<size_t>(facts.input_count) + static_cast<size_t>(facts.output_count)));
  const auto& descriptor = *static_cast<const KernelDescriptor*>(kernel);
  KernelArgs args;
  fill_args(descriptor, facts, views.data(), &args);
  return check_args(descriptor, facts, args, needs);
}

}  // namespace planwright::loader
