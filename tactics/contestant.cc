#include "tactics/contestant.h"

#include "tactics/pack.h"
#include "tactics/tactic_memory.h"

namespace planwright::tactics {

Contestant::Contestant(const StepSpec& spec, const Candidate& candidate, const StepData& data, Executor& executor,
                       const std::byte* packed)
    : spec_(spec), candidate_(candidate) {
  args_ = args_of(spec, candidate.tactic, &views_);
  const size_t packed_size = packed_size_of(*candidate.kernel, args_);
  if (packed == nullptr) packed_ = GuardedMemory(packed_size);
  workspace_ = GuardedMemory(workspace_size_of(*candidate.kernel, args_));
  const size_t stride = align_up(scratch_size_of(*candidate.kernel, args_), 64);
  scratch_ = GuardedMemory(stride * static_cast<size_t>(executor.workers()));
  for (size_t i = 0; i < data.inputs().size(); ++i) {
    // As in an engine: a kernel that packs an operand does not get it plainly, too.
    const bool is_packed = i < 32 && (candidate.kernel->packed_inputs >> i & 1) != 0;
    views_[i].data = is_packed ? nullptr : data.inputs()[i].data;
  }
  for (size_t i = 0; i < data.outputs().size(); ++i) views_[data.inputs().size() + i].data = data.outputs()[i].data;
  args_.packed = packed == nullptr ? packed_.data() : packed;
  args_.packed_size = packed_size;
  args_.workspace = workspace_.data();
  args_.workspace_size = workspace_.size();
  args_.scratch = scratch_.data();
  args_.scratch_stride = stride;
  args_.executor = &executor;
}

Status Contestant::pack() { return tactics::pack(spec_, candidate_, packed_.data()); }

}  // namespace planwright::tactics
