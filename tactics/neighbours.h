// Other contexts of the engine to be, which run a step while it is timed (--contexts): they take memory bandwidth,
// their part of a shared cache, and of the clock that many busy cores leave.
#ifndef PLANWRIGHT_TACTICS_NEIGHBOURS_H_
#define PLANWRIGHT_TACTICS_NEIGHBOURS_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

#include "tactics/select.h"

namespace planwright::tactics {

class Neighbours {
 public:
  // `count` contexts of `threads` threads, with operands of their own. Throws Error(kResource) without threads.
  Neighbours(int count, int threads, const StepSpec& spec, const std::vector<Candidate>& candidates);
  ~Neighbours();
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  // Has each run candidate `index` again and again, on weights `packed`, which all share; returns once each does, or
  // has no memory for it.
  void run(int index, const std::byte* packed);
  // Returns once none runs anything.
  void rest();

 private:
  static constexpr int kRest = -1, kEnd = -2;

  struct Context {
    std::atomic<int> running{kRest};
    std::thread thread;
  };

  void live(Context& context, int threads);
  void wait_for(int state) const;

  const StepSpec& spec_;
  const std::vector<Candidate>& candidates_;
  std::atomic<int> wanted_{kRest};
  const std::byte* packed_ = nullptr;  // of the wanted one
  std::deque<Context> contexts_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_NEIGHBOURS_H_
