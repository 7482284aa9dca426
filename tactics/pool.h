// A thread pool that its owner's end ends.
#ifndef PLANWRIGHT_TACTICS_POOL_H_
#define PLANWRIGHT_TACTICS_POOL_H_

#include <memory>

#include "schemas/types/error.h"
#include "tactics/kernels/thread_pool.h"

namespace planwright::tactics {

struct PoolDeleter {
  void operator()(ThreadPool* pool) const { ThreadPool::destroy(pool); }
};
using Pool = std::unique_ptr<ThreadPool, PoolDeleter>;

// Throws Error(kResource) without threads.
inline Pool make_pool(int threads) {
  ThreadPool* pool = nullptr;
  throw_if_error(ThreadPool::create(threads, &pool), "timing: ");
  return Pool(pool);
}

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_POOL_H_
