#include "tactics/kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace planwright {
namespace {

class OwnedPool {
 public:
  explicit OwnedPool(int workers) { EXPECT_TRUE(ThreadPool::create(workers, &pool_).ok()) << last_error(); }
  ~OwnedPool() { ThreadPool::destroy(pool_); }
  ThreadPool& operator*() const { return *pool_; }
  ThreadPool* operator->() const { return pool_; }

 private:
  ThreadPool* pool_ = nullptr;
};

TEST(ThreadPool, RunsEachTaskOnce) {
  for (const int workers : {1, 2, 3, 8}) {
    const OwnedPool pool(workers);
    EXPECT_EQ(pool->workers(), workers);
    for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<int> runs(static_cast<size_t>(tasks), 0);  // plain: each is touched by one task, joined by the end
      parallel_for(*pool, tasks, [&](int64_t task, int) { ++runs[static_cast<size_t>(task)]; });
      EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
    }
  }
}

TEST(ThreadPool, AWorkerRunsOneTaskAtATime) {
  const OwnedPool pool(4);
  std::vector<int> counts(4, 0);  // not atomic: a second task on the same worker would be a race under TSan
  for (int round = 0; round < 100; ++round) {
    parallel_for(*pool, 50, [&](int64_t, int worker) { ++counts[static_cast<size_t>(worker)]; });
  }
  EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3], 5000);
}

TEST(ThreadPool, TasksRunOnSeveralThreads) {
  const OwnedPool pool(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> waiting{0};
  // Each of two tasks waits for the other, so that one thread alone could never end them.
  parallel_for(*pool, 2, [&](int64_t, int) {
    waiting.fetch_add(1);
    while (waiting.load() < 2) std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

// So that a core finds in its cache what it wrote one step before.
TEST(ThreadPool, AWorkerBeginsWithTheSameTasksEachTime) {
  const OwnedPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    int64_t first[2] = {-1, -1};  // plain: each is its worker's own
    parallel_for(*pool, 9, [&](int64_t task, int worker) {
      if (first[worker] >= 0) return;
      first[worker] = task;
      begun.fetch_add(1);
      while (begun.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 5);
  }
}

TEST(ThreadPool, ATaskThatTakesLongKeepsNoOtherWaiting) {
  const OwnedPool pool(2);
  std::atomic<int> done{0};
  parallel_for(*pool, 100, [&](int64_t task, int) {
    while (task == 0 && done.load() < 99) std::this_thread::yield();  // for those of its own share, too
    done.fetch_add(1);
  });
  EXPECT_EQ(done.load(), 100);
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  const OwnedPool pool(3);
  for (int round = 0; round < 5; ++round) {
    usleep(2000);  // past the spinning
    std::atomic<int> waiting{0};
    parallel_for(*pool, 3, [&](int64_t, int) {
      waiting.fetch_add(1);
      while (waiting.load() < 3) std::this_thread::yield();
    });
    EXPECT_EQ(waiting.load(), 3);
  }
}

TEST(ThreadPool, ManyShortCallsWithMoreWorkersThanCpus) {
  const OwnedPool pool(16);
  int64_t sum = 0;
  for (int round = 0; round < 2000; ++round) {
    int64_t parts[4] = {};
    parallel_for(*pool, 4, [&](int64_t task, int) { parts[task] = task + round; });
    sum += parts[0] + parts[1] + parts[2] + parts[3];
  }
  EXPECT_EQ(sum, 2000 * 6 + 4 * (1999 * 2000 / 2));
}

TEST(ThreadPool, IsMadeAndDestroyedWhileWorkersSpinOrSleep) {
  for (int round = 0; round < 50; ++round) {
    const OwnedPool pool(4);
    if (round % 2 == 0) parallel_for(*pool, 4, [](int64_t, int) {});
    if (round % 10 == 0) usleep(1000);
  }
}

TEST(ThreadPool, PoolsOfSeveralThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      const OwnedPool pool(2);
      for (int round = 0; round < 200; ++round) {
        parallel_for(*pool, 5, [&](int64_t, int) { total.fetch_add(1, std::memory_order_relaxed); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 3 * 200 * 5);
}

TEST(ThreadPool, RefusesNoThreadsAndTooMany) {
  ThreadPool* pool = nullptr;
  EXPECT_EQ(ThreadPool::create(0, &pool).code(), StatusCode::kInvalid);
  EXPECT_EQ(ThreadPool::create(257, &pool).code(), StatusCode::kInvalid);
  EXPECT_EQ(pool, nullptr);
  ThreadPool::destroy(nullptr);
}

}  // namespace
}  // namespace planwright
