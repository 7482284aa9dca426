#include "tactics/contestant.h"

#include <algorithm>

#include "schemas/types/checked.h"
#include "schemas/types/status.h"
#include "tactics/pack.h"
#include "tactics/tactic_memory.h"

namespace planwright::tactics {

Contestant::Contestant(const StepSpec& spec, const Candidate& candidate, const StepData& data, Executor& executor,
                       const std::byte* packed)
    : spec_(spec), candidate_(candidate) {
  args_ = args_of(spec, candidate.tactic, &views_);
  workspace_ = GuardedMemory(workspace_size_of(*candidate.kernel, args_));
  const size_t stride = align_up(scratch_size_of(*candidate.kernel, args_), 64);
  scratch_ = GuardedMemory(stride * static_cast<size_t>(executor.workers()));
  for (size_t i = 0; i < data.inputs().size(); ++i) {
    // As in an engine: a kernel that packs an operand does not get it plainly, too.
    const bool is_packed = i < 32 && (candidate.kernel->packed_inputs >> i & 1) != 0;
    views_[i].data = is_packed ? nullptr : data.inputs()[i].data;
  }
  for (size_t i = 0; i < data.outputs().size(); ++i) views_[data.inputs().size() + i].data = data.outputs()[i].data;
  args_.packed = packed;
  args_.packed_size = packed_size(spec, candidate);
  args_.workspace = workspace_.data();
  args_.workspace_size = workspace_.size();
  args_.scratch = scratch_.data();
  args_.scratch_stride = stride;
  args_.executor = &executor;
}

Status Contestant::pack(std::byte* room) {
  if (room == nullptr) {
    packed_ = GuardedMemory(args_.packed_size);
    args_.packed = packed_.data();
    return tactics::pack(spec_, candidate_, packed_.data());
  }
  args_.packed = room_ = room;
  PW_RETURN_IF_ERROR(tactics::pack(spec_, candidate_, room));
  kept_.assign(room, room + args_.packed_size);
  return kOkStatus;
}

void Contestant::take_room() {
  if (room_ != nullptr) std::copy(kept_.begin(), kept_.end(), room_);
}

}  // namespace planwright::tactics
