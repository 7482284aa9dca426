// The memory a kernel's run needs besides its operands, in bytes.
#ifndef PLANWRIGHT_TACTICS_TACTIC_MEMORY_H_
#define PLANWRIGHT_TACTICS_TACTIC_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "schemas/types/checked.h"
#include "tactics/kernels/kernel.h"

namespace planwright::tactics {

inline size_t packed_size_of(const KernelDescriptor& kernel, const KernelArgs& args) {
  return kernel.packed_size == nullptr ? 0 : kernel.packed_size(args);
}
inline size_t workspace_size_of(const KernelDescriptor& kernel, const KernelArgs& args) {
  return kernel.workspace_size == nullptr ? 0 : kernel.workspace_size(args);
}
inline size_t scratch_size_of(const KernelDescriptor& kernel, const KernelArgs& args) {
  return kernel.scratch_size == nullptr ? 0 : kernel.scratch_size(args);
}

// Workspace and every worker's scratch: what `--memPoolSize=workspace` caps. UINT64_MAX where it overflows.
inline uint64_t memory_needed(const KernelDescriptor& kernel, const KernelArgs& args, int workers) {
  uint64_t scratch = 0, total = 0;
  if (!checked_mul<uint64_t>(scratch_size_of(kernel, args), static_cast<uint64_t>(workers), &scratch) ||
      !checked_add<uint64_t>(workspace_size_of(kernel, args), scratch, &total)) {
    return UINT64_MAX;
  }
  return total;
}

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TACTIC_MEMORY_H_
