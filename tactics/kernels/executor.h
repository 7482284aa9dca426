// How a kernel spreads its work: over a pool of ours (thread_pool.h), the caller's parallel-for, or this thread alone.
#ifndef PLANWRIGHT_TACTICS_KERNELS_EXECUTOR_H_
#define PLANWRIGHT_TACTICS_KERNELS_EXECUTOR_H_

#include <cstdint>

namespace planwright {

class Executor {
 public:
  // Runs one task. `worker` is in [0, workers()) and no two tasks with one worker run at the same time.
  using Task = void (*)(void* context, int64_t task, int worker);

  // Runs tasks 0 .. tasks-1, in any order, and returns when all are done. Called by one thread at a time; a task must
  // not call it again. What a task computes must not depend on `worker` or on which tasks ran before.
  virtual void parallel_for(int64_t tasks, Task task, void* context) = 0;
  virtual int workers() const = 0;

 protected:
  Executor() = default;
  ~Executor() = default;  // never deleted through this
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
};

// The executor of one thread: tasks in order, worker 0. Defined out of line: GCC guesses virtual calls and would put a
// copy of an inline body into every tier's objects, for the linker to merge.
class InlineExecutor final : public Executor {
 public:
  void parallel_for(int64_t tasks, Task task, void* context) override;
  int workers() const override;
};

// Calls `body(task, worker)` for every task; `body` is any callable that outlives the call.
template <typename Body>
void parallel_for(Executor& executor, int64_t tasks, const Body& body) {
  executor.parallel_for(
      tasks, [](void* context, int64_t task, int worker) { (*static_cast<const Body*>(context))(task, worker); },
      const_cast<Body*>(&body));
}

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_EXECUTOR_H_
