// Caches as a step finds them in a running engine: what it reads was just written by the cores that run it, and of
// weights and workspace, last used a whole inference ago, the cores' own caches hold what the other steps have left.
#ifndef PLANWRIGHT_TACTICS_CACHE_STATE_H_
#define PLANWRIGHT_TACTICS_CACHE_STATE_H_

#include <cstddef>

#include "tactics/guarded_memory.h"
#include "tactics/kernels/executor.h"
#include "tactics/step_data.h"

namespace planwright::tactics {

// How much of a core's L2 a run of an engine goes through that has so many bytes of weights and of tensors alive at
// once: all of it, or where that is more than the engine has, so many whole quarters; a step's own weights come on top.
size_t swept_bytes(double working_set);

class CacheState {
 public:
  CacheState(Executor& executor, size_t swept);  // throws std::bad_alloc

  // Has each worker write `swept` bytes, so that they take the place of others in its L1 and L2, and then `data`'s
  // computed inputs again.
  void prepare(StepData& data);

 private:
  Executor& executor_;
  GuardedMemory sweep_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CACHE_STATE_H_
