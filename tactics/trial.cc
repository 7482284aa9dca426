#include "tactics/trial.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "schemas/types/error.h"
#include "tactics/agreement.h"
#include "tactics/cache_state.h"
#include "tactics/clock.h"
#include "tactics/contestant.h"
#include "tactics/guarded_memory.h"
#include "tactics/kernels/cpu.h"
#include "tactics/kernels/registry.h"
#include "tactics/neighbours.h"
#include "tactics/pack.h"
#include "tactics/pool.h"
#include "tactics/step_data.h"
#include "tactics/work.h"

namespace planwright::tactics {
namespace {

// Steps above kAlwaysCheckedWork up to this bound are compared with the reference only where two candidates contradict
// each other.
constexpr double kCheckedInDoubt = 2e9;
constexpr uint64_t kSeed = 1;
// Runs that another process interrupted are run again, up to as many times as this share of all.
constexpr double kRetriedShare = 0.5;

// Of a race that a deadline may cut short: most drop out of it after a turn or two.
constexpr double kReservedRuns = 2 * kRunsInTurn;

// Every kernel as it is, then each with its second parameters, and so on: where there is no time for all, the kernels
// differ more than one kernel's parameters do.
std::vector<int> order_of_first_runs(const std::vector<Candidate>& candidates) {
  std::map<const KernelDescriptor*, int> seen;
  std::vector<std::pair<int, int>> order;
  for (const Candidate& candidate : candidates) {
    order.emplace_back(seen[candidate.kernel]++, static_cast<int>(order.size()));
  }
  std::sort(order.begin(), order.end());
  std::vector<int> indices;
  for (const auto& [parameters, index] : order) indices.push_back(index);
  return indices;
}

// Whether a run goes through the step's weights many times, as an Rnn does that is not given its sequence in pieces.
bool repeats_weights(const StepSpec& spec) {
  constexpr int64_t kMany = 8;
  if (spec.op != OpKind::kRnn) return false;
  const bool is_batch_first = reinterpret_cast<const RnnParams*>(spec.params.data())->batch_first != 0;
  return spec.inputs[0].view.dims[is_batch_first ? 1 : 0] >= kMany;
}

// How often this process's threads had to leave a core to another.
long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

class Trial {
 public:
  Trial(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules, TrialBoard& board)
      : spec_(spec),
        candidates_(candidates),
        rules_(rules),
        board_(board),
        pool_(make_pool(rules.threads)),
        data_(spec, kSeed),
        caches_(*pool_, rules.swept_bytes),
        room_(most_packed()),
        contestants_(candidates.size()) {
    if (rules.contexts > 1) neighbours_.emplace(rules.contexts - 1, rules.threads, spec, candidates);
  }

  void run() {
    if (rules_.use_reference && work_of(spec_) <= kAlwaysCheckedWork) consult_reference();
    if (reference_refused_) return;
    for (const int i : order_of_first_runs(candidates_)) {
      if (!is_usable(board_.measurement(i).outcome)) continue;
      // Who is admitted must also have the time to race.
      if (!admitted_.empty() && now_us() + kReservedRuns * first_runs_us_ >= rules_.race.deadline_us) {
        board_.cut_short() = 1;
        break;
      }
      admit(i);
    }
    std::sort(admitted_.begin(), admitted_.end());  // in a race the better guess is the lower index
    if (!expected_ && rules_.use_reference) {
      consult_reference();
      if (reference_refused_) return forgive_failures();
    }
    race_admitted();
  }

 private:
  // Where packed weights that a core's L2 holds lie while a candidate has its turn: all in one place, which ends where
  // they do. Pages of memory are spread over a cache by chance, so in places of their own one or the other was in luck.
  // (Of five builds of silero_vad two had other winners, 5 % slower.)
  size_t most_packed() const {
    size_t most = 0;
    for (const Candidate& candidate : candidates_) {
      const size_t packed = packed_size(spec_, candidate);
      if (packed <= cache_sizes().l2) most = std::max(most, packed);
    }
    return most;
  }
  std::byte* room_for(size_t bytes) const { return room_.data() + (room_.size() - bytes) / 64 * 64; }

  // Packs and runs candidate `i` for the first time, and compares what it computed.
  void admit(int i) {
    board_.enter(i);
    auto contestant = std::make_unique<Contestant>(spec_, candidates_[static_cast<size_t>(i)], data_, *pool_);
    const size_t packed = packed_size(spec_, candidates_[static_cast<size_t>(i)]);
    if (!contestant->pack(packed <= room_.size() ? room_for(packed) : nullptr).ok())
      return board_.exclude(i, Outcome::kFailed, std::string("pack: ") + last_error());
    data_.poison_outputs();
    const double start = now_us();
    if (!contestant->run().ok()) return board_.exclude(i, Outcome::kFailed, last_error());
    first_runs_us_ += now_us() - start;
    Results results = results_of(data_.outputs());
    contestants_[static_cast<size_t>(i)] = std::move(contestant);
    admitted_.push_back(i);
    const Precision precision = candidates_[static_cast<size_t>(i)].kernel->precision;
    if (!expected_) return expect(std::move(results), precision);
    std::string difference = disagreement(spec_, results, *expected_, std::max(precision, expected_precision_));
    if (difference.empty()) {
      // The finer of the two is what the next are compared with.
      if (precision < expected_precision_) expect(std::move(results), precision);
      return;
    }
    if (!is_expected_by_reference_ && rules_.use_reference && work_of(spec_) <= kCheckedInDoubt) {
      // Which of the two is wrong? All that agreed so far stand or fall together.
      Results disputed = std::move(*expected_);
      const Precision disputed_precision = expected_precision_;
      consult_reference();
      if (is_expected_by_reference_) {
        if (std::string other = disagreement(spec_, disputed, *expected_, disputed_precision); !other.empty()) {
          admitted_.pop_back();
          exclude_all_admitted(other);
          admitted_.push_back(i);
        }
        difference = disagreement(spec_, results, *expected_, precision);
        if (difference.empty()) return;
      } else {
        expect(std::move(disputed), disputed_precision);
      }
    }
    admitted_.pop_back();
    contestants_[static_cast<size_t>(i)].reset();
    board_.exclude(i, Outcome::kWrong, difference);
  }

  void expect(Results results, Precision precision) {
    expected_ = std::move(results);
    expected_precision_ = precision;
  }

  void exclude_all_admitted(const std::string& difference) {
    for (const int i : admitted_) {
      contestants_[static_cast<size_t>(i)].reset();
      board_.exclude(i, Outcome::kWrong, difference);
    }
    admitted_.clear();
  }

  // Not even the reference runs on these operands: that the candidates did not says nothing about them.
  void forgive_failures() {
    for (int i = 0; i < board_.size(); ++i) {
      Measurement& measurement = board_.measurement(i);
      if (measurement.outcome == Outcome::kFailed) measurement = {};
    }
  }

  // Makes the reference kernel's results the expected ones.
  void consult_reference() {
    board_.enter(TrialBoard::kReference);
    const Candidate reference{&reference_kernel(spec_.op), {}};
    Contestant contestant(spec_, reference, data_, *pool_);
    data_.poison_outputs();
    if (!contestant.pack().ok() || !contestant.run().ok()) {
      reference_refused_ = true;
      return;
    }
    expect(results_of(data_.outputs()), Precision::kFull);
    is_expected_by_reference_ = true;
  }

  void race_admitted() {
    if (admitted_.empty()) return;
    const std::vector<Measurement> results = race(
        static_cast<int>(admitted_.size()), rules_.race,
        [&](int contestant) { return take_turn(admitted_[static_cast<size_t>(contestant)]); }, now_us);
    for (size_t k = 0; k < admitted_.size(); ++k) {
      Measurement& measurement = board_.measurement(admitted_[k]);
      if (is_usable(measurement.outcome)) measurement = results[k];
    }
    if (now_us() >= rules_.race.deadline_us) board_.cut_short() = 1;
  }

  // The others' turns drove this one's weights out of the last-level cache. Its first run fetches them: it takes up to
  // half as long again as the next and scatters so much that three of them rank the tactics within 25 % of the best 7 %
  // off the truth on average (of squeezenet's layers). Of the shorter of the next two it is 2.4 %.
  // Where a run goes through its weights many times the first is as good, and better to tell by: nsnet2's GRU of 100
  // steps had one winner in ten builds of ten, by the next two runs another one in four of fifteen, 10 to 30 % slower.
  // By the first run of silero_vad's LSTM, which takes one step, AVX2 wins in one build of five, 10 % slower.
  double take_turn(int i) {
    contestants_[static_cast<size_t>(i)]->take_room();
    const double first = run_once(i);
    if (repeats_weights(spec_)) return first;
    double shortest = HUGE_VAL;
    for (int run = 1; run < kRunsInTurn; ++run) shortest = std::min(shortest, run_once(i));
    return shortest;
  }

  double run_once(int i) {
    for (;;) {
      board_.enter(i);
      const Contestant& contestant = *contestants_[static_cast<size_t>(i)];
      caches_.prepare(data_);
      if (neighbours_) neighbours_->run(i, contestant.packed());
      const long switches = involuntary_switches();
      const double start = now_us();
      const Status status = contestant.run();
      const double took = now_us() - start;
      if (neighbours_) neighbours_->rest();
      if (!status.ok()) board_.exclude(i, Outcome::kFailed, last_error());
      const int runs = ++board_.timed_runs();
      if (involuntary_switches() == switches) return took;
      if (++board_.disturbed() > kRetriedShare * runs) return took;
    }
  }

  const StepSpec& spec_;
  const std::vector<Candidate>& candidates_;
  const TrialRules& rules_;
  TrialBoard& board_;
  Pool pool_;
  StepData data_;
  CacheState caches_;
  GuardedMemory room_;
  std::vector<std::unique_ptr<Contestant>> contestants_;
  std::optional<Neighbours> neighbours_;  // after what they run
  std::vector<int> admitted_;
  double first_runs_us_ = 0;  // of all admitted, together
  std::optional<Results> expected_;
  Precision expected_precision_ = Precision::kFull;
  bool is_expected_by_reference_ = false;
  bool reference_refused_ = false;
};

}  // namespace

void run_trial(const StepSpec& spec, const std::vector<Candidate>& candidates, const TrialRules& rules,
               TrialBoard& board) {
  board.enter(TrialBoard::kSetUp);
  board.cut_short() = 0;
  Trial(spec, candidates, rules, board).run();
  board.enter(TrialBoard::kDone);
}

}  // namespace planwright::tactics
