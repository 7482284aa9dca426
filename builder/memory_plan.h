// Packing buffers with lifetimes into one arena.
#ifndef PLANWRIGHT_BUILDER_MEMORY_PLAN_H_
#define PLANWRIGHT_BUILDER_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

namespace planwright::builder {

// A buffer alive from step `first` to step `last`, both included.
struct BufferLife {
  uint64_t size = 0;  // bytes; 0 takes no room
  int32_t first = 0;
  int32_t last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one a buffer, 64-byte aligned
  uint64_t arena_size = 0;
  uint64_t lower_bound = 0;  // max over steps of the sum of sizes alive
};

// Deterministic; sizes are rounded up to 64 bytes.
MemoryPlan plan_memory(const std::vector<BufferLife>& buffers);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_MEMORY_PLAN_H_
