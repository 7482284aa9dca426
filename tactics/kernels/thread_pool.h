// The small pool that runs kernels when the application brings no parallel-for of its own.
#ifndef PLANWRIGHT_TACTICS_KERNELS_THREAD_POOL_H_
#define PLANWRIGHT_TACTICS_KERNELS_THREAD_POOL_H_

#include <cstddef>

#include "schemas/types/status.h"
#include "tactics/kernels/executor.h"

namespace planwright {

// `workers` threads in all, the calling one included. Between parallel_for calls workers spin for some 20 microseconds,
// then sleep; they sleep at once where there are more of them than CPUs. Allocates only in create().
class ThreadPool final : public Executor {
 public:
  // Makes a pool; kInvalid unless `workers` is in [1, 256], kResource when memory or threads cannot be had.
  static Status create(int workers, ThreadPool** pool);
  // Joins the threads. Null is fine.
  static void destroy(ThreadPool* pool);

  void parallel_for(int64_t tasks, Task task, void* context) override;
  int workers() const override;

 private:
  struct State;
  explicit ThreadPool(State* state) : state_(state) {}
  ~ThreadPool() = default;
  State* state_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_THREAD_POOL_H_
