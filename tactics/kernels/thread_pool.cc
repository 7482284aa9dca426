#include "tactics/kernels/thread_pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <new>

namespace planwright {
namespace {

constexpr int kMaxWorkers = 256;

// Ticks of the time stamp counter (2 to 4 GHz) that a thread spins before it sleeps: 12 to 25 microseconds. Gaps
// between the steps of a network are shorter; waking a sleeping thread takes about as long.
constexpr uint64_t kSpinTicks = 50'000;

void futex_wait(std::atomic<uint32_t>* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>* word, int threads) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

// Spins until `done()` or the time is up; returns the last done().
template <typename Done>
bool spin_until(uint64_t ticks, const Done& done) {
  if (done()) return true;
  for (const uint64_t start = __rdtsc(); __rdtsc() - start < ticks;) {
    _mm_pause();
    if (done()) return true;
  }
  return false;
}

// The gate that workers go through to join a parallel_for: its generation in the upper half, whether it is open, and
// how many workers have entered. The caller waits only for those: one that the system has not scheduled yet is not
// missed.
constexpr uint64_t kOpen = 1u << 16;
constexpr uint64_t kEntered = kOpen - 1;
constexpr uint32_t generation_of(uint64_t gate) { return static_cast<uint32_t>(gate >> 32); }

int usable_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

struct ThreadPool::State {
  State(int workers_, uint64_t spin_ticks_) : pool(this), workers(workers_), spin_ticks(spin_ticks_) {}

  ThreadPool pool;
  const int workers;
  const uint64_t spin_ticks;

  // The job; written only while the gate is closed and nobody is inside.
  Task task = nullptr;
  void* context = nullptr;
  // Each worker's tasks, which it takes before those that others have left. Steps of a network then have the same rows
  // of an image in one core's cache, from layer to layer.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  Share shares[kMaxWorkers];

  alignas(64) std::atomic<uint64_t> gate{0};
  std::atomic<uint32_t> opened{0};    // what workers sleep on: counts openings, and one for the end
  std::atomic<uint32_t> sleepers{0};  // workers that sleep or are about to
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<uint32_t> left{0};  // workers that went in and are done; what the caller sleeps on
  std::atomic<bool> caller_sleeps{false};

  struct Worker {
    State* state;
    int index;
    pthread_t thread;
  };
  Worker threads[kMaxWorkers - 1];
  int started = 0;

  void run_tasks(int worker) {
    for (int i = 0; i < workers; ++i) {
      Share& share = shares[worker + i < workers ? worker + i : worker + i - workers];
      for (int64_t next; (next = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) {
        task(context, next, worker);
      }
    }
  }

  // Joins the open job if there is one.
  void join(int worker) {
    uint64_t seen = gate.load(std::memory_order_acquire);
    do {
      if ((seen & kOpen) == 0) return;
    } while (!gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire));
    run_tasks(worker);
    left.fetch_add(1);
    if (caller_sleeps.load()) futex_wake(&left, 1);
  }

  void sleep_until_opened(uint32_t generation) {
    sleepers.fetch_add(1);
    const uint32_t seen = opened.load();
    // Sequentially consistent with open(): either this sees the new generation or open() sees the sleeper.
    if (generation_of(gate.load()) == generation && !stop.load()) futex_wait(&opened, seen);
    sleepers.fetch_sub(1);
  }

  void work(int worker) {
    uint32_t generation = 0;
    const auto is_called = [&] {
      return generation_of(gate.load(std::memory_order_acquire)) != generation || stop.load(std::memory_order_relaxed);
    };
    while (true) {
      while (!spin_until(spin_ticks, is_called)) sleep_until_opened(generation);
      if (stop.load()) return;
      generation = generation_of(gate.load(std::memory_order_acquire));
      join(worker);
    }
  }

  void open(int64_t task_count, Task job, void* job_context) {
    task = job;
    context = job_context;
    const int64_t each = task_count / workers, more = task_count % workers;
    int64_t first = 0;
    for (int i = 0; i < workers; ++i) {
      shares[i].next.store(first, std::memory_order_relaxed);
      first += each + (i < more ? 1 : 0);
      shares[i].end = first;
    }
    left.store(0, std::memory_order_relaxed);
    const uint64_t generation = generation_of(gate.load(std::memory_order_relaxed)) + 1;
    gate.store(generation << 32 | kOpen);
    wake(task_count - 1 < workers - 1 ? static_cast<int>(task_count) - 1 : workers - 1);
  }

  void wake(int threads_wanted) {
    opened.fetch_add(1);
    if (sleepers.load() != 0) futex_wake(&opened, threads_wanted);
  }

  void close() {
    const uint32_t entered = static_cast<uint32_t>(gate.fetch_and(~kOpen, std::memory_order_acq_rel) & kEntered);
    const auto all_left = [&] { return left.load(std::memory_order_acquire) == entered; };
    if (spin_until(spin_ticks, all_left)) return;
    caller_sleeps.store(true);
    for (uint32_t seen; (seen = left.load()) != entered;) futex_wait(&left, seen);
    caller_sleeps.store(false);
  }

  void join_threads() {
    stop.store(true);
    wake(kMaxWorkers);
    for (int i = 0; i < started; ++i) pthread_join(threads[i].thread, nullptr);
  }
};

Status ThreadPool::create(int workers, ThreadPool** pool) {
  *pool = nullptr;
  if (workers < 1 || workers > kMaxWorkers) {
    return error(StatusCode::kInvalid, "a thread pool of %d threads; 1 to %d are possible", workers, kMaxWorkers);
  }
  void* memory = aligned_alloc(alignof(State), sizeof(State));
  if (memory == nullptr) return error(StatusCode::kResource, "no memory for a thread pool");
  // With more threads than CPUs, a spinning thread keeps off its CPU the one that it waits for.
  State* state = new (memory) State(workers, workers <= usable_cpus() ? kSpinTicks : 0);

  // The application's signals are for the application's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = 0;
  for (int i = 0; i < workers - 1 && failure == 0; ++i) {
    State::Worker& worker = state->threads[i];
    worker = {state, i + 1, {}};
    failure = pthread_create(
        &worker.thread, nullptr,
        [](void* argument) -> void* {
          const State::Worker* self = static_cast<State::Worker*>(argument);
          self->state->work(self->index);
          return nullptr;
        },
        &worker);
    if (failure == 0) ++state->started;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (failure != 0) {
    const int made = state->started + 1;
    destroy(&state->pool);
    return error(StatusCode::kResource, "only %d of %d threads could be started: %s", made, workers, strerror(failure));
  }
  *pool = &state->pool;
  return kOkStatus;
}

void ThreadPool::destroy(ThreadPool* pool) {
  if (pool == nullptr) return;
  State* state = pool->state_;
  state->join_threads();
  state->~State();
  free(state);
}

void ThreadPool::parallel_for(int64_t tasks, Task task, void* context) {
  if (tasks <= 1 || state_->workers == 1) {
    for (int64_t i = 0; i < tasks; ++i) task(context, i, 0);
    return;
  }
  state_->open(tasks, task, context);
  state_->run_tasks(0);
  state_->close();
}

int ThreadPool::workers() const { return state_->workers; }

}  // namespace planwright
