#include "tactics/neighbours.h"

#include <memory>
#include <new>
#include <system_error>

#include "schemas/types/error.h"
#include "tactics/contestant.h"
#include "tactics/pool.h"
#include "tactics/step_data.h"

namespace planwright::tactics {

Neighbours::Neighbours(int count, int threads, const StepSpec& spec, const std::vector<Candidate>& candidates)
    : spec_(spec), candidates_(candidates) {
  try {
    for (int i = 0; i < count; ++i) {
      Context& context = contexts_.emplace_back();
      context.thread = std::thread([this, &context, threads] { live(context, threads); });
    }
  } catch (const std::system_error& failure) {
    contexts_.pop_back();
    wanted_ = kEnd;
    for (Context& context : contexts_) context.thread.join();
    throw Error(StatusCode::kResource, std::string("timing with several contexts: ") + failure.what());
  }
}

Neighbours::~Neighbours() {
  wanted_ = kEnd;
  for (Context& context : contexts_) context.thread.join();
}

void Neighbours::run(int index, const std::byte* packed) {
  packed_ = packed;
  wanted_ = index;
  wait_for(index);
}

void Neighbours::rest() {
  wanted_ = kRest;
  wait_for(kRest);
}

void Neighbours::wait_for(int state) const {
  for (const Context& context : contexts_) {
    while (context.running != state) std::this_thread::yield();
  }
}

void Neighbours::live(Context& context, int threads) {
  // Without memory or threads of its own it only says that it runs: then the step is timed on a quieter machine.
  Pool pool;
  std::unique_ptr<StepData> data;
  std::vector<std::unique_ptr<Contestant>> contestants(candidates_.size());
  const auto contestant = [&](int index) -> const Contestant* {
    std::unique_ptr<Contestant>& one = contestants[static_cast<size_t>(index)];
    try {
      if (pool == nullptr) pool = make_pool(threads);
      if (data == nullptr) data = std::make_unique<StepData>(spec_, 1);
      const Candidate& candidate = candidates_[static_cast<size_t>(index)];
      if (one == nullptr) one = std::make_unique<Contestant>(spec_, candidate, *data, *pool, packed_);
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    }
    return one.get();
  };
  for (;;) {
    const int wanted = wanted_;
    if (wanted == kEnd) return;
    const Contestant* one = wanted == kRest ? nullptr : contestant(wanted);
    context.running = wanted;
    if (one != nullptr) {
      static_cast<void>(one->run());  // what it computes is of no interest
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace planwright::tactics
