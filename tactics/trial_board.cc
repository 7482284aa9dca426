#include "tactics/trial_board.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace planwright::tactics {

TrialBoard::TrialBoard(int candidates)
    : size_(candidates), mapped_(sizeof(Header) + static_cast<size_t>(candidates) * sizeof(Slot)) {
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  new (mapping_) Header{};
  for (int i = 0; i < size_; ++i) new (&slots()[i]) Slot{};
  enter(kSetUp);
}

TrialBoard::~TrialBoard() { munmap(mapping_, mapped_); }

void TrialBoard::exclude(int candidate, Outcome outcome, const std::string& reason) {
  Slot& slot = slots()[candidate];
  slot.measurement = {outcome};
  const size_t length = std::min(reason.size(), sizeof slot.reason - 1);
  std::memcpy(slot.reason, reason.data(), length);
  slot.reason[length] = '\0';
}

void TrialBoard::enter(int what) {
  header()->running.store(what, std::memory_order_release);
  header()->signs_of_life.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace planwright::tactics
