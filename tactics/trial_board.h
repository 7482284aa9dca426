// Memory that the process which times candidates shares with the one that watches it, so that what was measured and
// which candidate was running survive a crash.
#ifndef PLANWRIGHT_TACTICS_TRIAL_BOARD_H_
#define PLANWRIGHT_TACTICS_TRIAL_BOARD_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "tactics/measurement.h"

namespace planwright::tactics {

class TrialBoard {
 public:
  // What runs when it is no candidate.
  static constexpr int kSetUp = -1;      // operands are being made
  static constexpr int kReference = -2;  // the reference kernel, to compare with
  static constexpr int kDone = -3;

  explicit TrialBoard(int candidates);  // throws std::bad_alloc
  ~TrialBoard();
  TrialBoard(const TrialBoard&) = delete;
  TrialBoard& operator=(const TrialBoard&) = delete;

  int size() const { return size_; }
  Measurement& measurement(int candidate) { return slots()[candidate].measurement; }
  std::string reason(int candidate) { return slots()[candidate].reason; }
  // Excludes a candidate; the reason is cut to what its slot holds.
  void exclude(int candidate, Outcome outcome, const std::string& reason);

  // Says what runs now; each call is a sign of life.
  void enter(int what);
  int running() const { return header()->running.load(std::memory_order_acquire); }
  uint32_t signs_of_life() const { return header()->signs_of_life.load(std::memory_order_acquire); }

  // How many timed runs were interrupted by another process, of how many.
  std::atomic<int32_t>& disturbed() { return header()->disturbed; }
  std::atomic<int32_t>& timed_runs() { return header()->timed_runs; }
  // Whether its deadline ended the trial: measurements are fewer or rougher than those of one that nobody hurried.
  std::atomic<int32_t>& cut_short() { return header()->cut_short; }

 private:
  struct Slot {
    Measurement measurement;
    char reason[240];
  };
  struct Header {
    std::atomic<int32_t> running;
    std::atomic<uint32_t> signs_of_life;
    std::atomic<int32_t> disturbed;
    std::atomic<int32_t> timed_runs;
    std::atomic<int32_t> cut_short;
  };
  // Between processes an atomic must not hide a lock in one of them.
  static_assert(std::atomic<int32_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

  Header* header() const { return static_cast<Header*>(mapping_); }
  Slot* slots() const { return reinterpret_cast<Slot*>(header() + 1); }

  int size_;
  void* mapping_;
  size_t mapped_;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TRIAL_BOARD_H_
