// One candidate with everything its run needs.
#ifndef PLANWRIGHT_TACTICS_CONTESTANT_H_
#define PLANWRIGHT_TACTICS_CONTESTANT_H_

#include <vector>

#include "tactics/guarded_memory.h"
#include "tactics/kernels/executor.h"
#include "tactics/select.h"
#include "tactics/step_data.h"

namespace planwright::tactics {

class Contestant {
 public:
  // Runs on `data`, which outlives it. `packed`: weights that another one of the candidate has packed; null: it must
  // pack its own. Throws std::bad_alloc.
  Contestant(const StepSpec& spec, const Candidate& candidate, const StepData& data, Executor& executor,
             const std::byte* packed = nullptr);
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  // In memory of its own, or in `room`, of as many bytes and 64-byte aligned, which it shares with others: then its
  // weights lie there until another takes it. Throws std::bad_alloc.
  Status pack(std::byte* room = nullptr);
  // Has its weights lie in the room again.
  void take_room();
  Status run() const { return candidate_.kernel->run(args_); }
  const std::byte* packed() const { return args_.packed; }

 private:
  const StepSpec& spec_;
  const Candidate candidate_;
  std::vector<TensorView> views_;
  KernelArgs args_;
  GuardedMemory packed_, workspace_, scratch_;
  std::byte* room_ = nullptr;
  std::vector<std::byte> kept_;  // what it packed there
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CONTESTANT_H_
