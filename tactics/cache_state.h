// Caches as a step finds them in a running engine: what it reads was just written by the cores that run it, and of
// weights and workspace, last used a whole inference ago, the cores' own caches hold nothing.
#ifndef PLANWRIGHT_TACTICS_CACHE_STATE_H_
#define PLANWRIGHT_TACTICS_CACHE_STATE_H_

#include "tactics/guarded_memory.h"
#include "tactics/kernels/executor.h"
#include "tactics/step_data.h"

namespace planwright::tactics {

class CacheState {
 public:
  explicit CacheState(Executor& executor);  // throws std::bad_alloc

  // Sweeps each worker's L1 and L2, then has the workers write `data`'s computed inputs again.
  void prepare(StepData& data);

 private:
  Executor& executor_;
  GuardedMemory sweep_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CACHE_STATE_H_
