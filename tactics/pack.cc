#include "tactics/pack.h"

#include "tactics/tactic_memory.h"

namespace planwright::tactics {

size_t packed_size(const StepSpec& spec, const Candidate& candidate) {
  std::vector<TensorView> views;
  return packed_size_of(*candidate.kernel, args_of(spec, candidate.tactic, &views));
}

uint64_t constant_bytes(const StepSpec& spec, uint32_t packed_inputs) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const bool is_packed = i < 32 && (packed_inputs >> i & 1) != 0;
    if (spec.inputs[i].constant != nullptr && !is_packed) bytes += spec.inputs[i].constant->size();
  }
  return bytes;
}

uint64_t stored_bytes(const StepSpec& spec, const Candidate& candidate) {
  return packed_size(spec, candidate) + constant_bytes(spec, candidate.kernel->packed_inputs);
}

Status pack(const StepSpec& spec, const Candidate& candidate, std::byte* destination) {
  if (candidate.kernel->pack == nullptr) return kOkStatus;
  std::vector<TensorView> views;
  const KernelArgs args = args_of(spec, candidate.tactic, &views);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].constant == nullptr) continue;
    TensorView& view = views[i];
    // A kernel reads what it packs; the pointer is not const because outputs are views too.
    view.data = const_cast<std::byte*>(spec.inputs[i].constant->data());
    int64_t stride = 1;
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      view.strides[axis] = stride;
      stride *= view.dims[axis];
    }
  }
  return candidate.kernel->pack(args, destination);
}

}  // namespace planwright::tactics
