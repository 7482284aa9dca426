#include "tactics/race.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace planwright::tactics {
namespace {

// How much slower than the best a contestant may be after so many runs before it drops out. The first run of a
// contestant may take ten times what the others do (cold page tables, a clock that steps), so bounds narrow slowly;
// most lists have one or two contestants within 10 % of the best.
constexpr double kSlack[] = {10.0, 2.0, 1.5, 1.25};
constexpr double kLeastSlack = 1.1;
// Of fewer runs the shortest counts, not the quartile, which one interrupted run still moves.
constexpr int kFewestForQuartile = 5;
// Where runs are long, three tell more than 10 % apart, and there is no time for more.
constexpr double kSlackOutOfTime = 1.03;
constexpr int kFewestRuns = 3;
static_assert(std::size(kSlack) == kFewestForQuartile - 1);
// Contestants that stay within the noise of each other get up to so many times the runs asked for.
constexpr int kExtraRounds = 12;
// The spread is noise, not a licence: a tactic 3 % slower is never taken for its low index.
constexpr double kMostSpread = 0.03;
constexpr double kLeastSpread = 0.01;

// Of sorted samples.
double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double tolerance_between(const Measurement& a, const Measurement& b) {
  return std::clamp<double>(std::max(a.spread, b.spread), kLeastSpread, kMostSpread);
}

class Race {
 public:
  Race(int contestants, const RaceRules& rules, const RunOnce& run_once, const Clock& clock)
      : rules_(rules), run_once_(run_once), clock_(clock), start_(clock()) {
    samples_.resize(static_cast<size_t>(contestants));
    results_.resize(static_cast<size_t>(contestants));
    for (int i = 0; i < contestants; ++i) running_.push_back(i);
  }

  std::vector<Measurement> run() {
    int round = 0;
    do {
      for (const int i : running_) {
        samples_[static_cast<size_t>(i)].push_back(run_once_(i));
        results_[static_cast<size_t>(i)] = summarize(samples_[static_cast<size_t>(i)]);
        if (clock_() >= rules_.deadline_us) return as_it_stands();
      }
      ++round;
      drop_the_slow(round);
    } while (!is_over(round));
    for (const int i : running_) results_[static_cast<size_t>(i)].outcome = Outcome::kTimed;
    return std::move(results_);
  }

 private:
  std::vector<Measurement> as_it_stands() {
    for (const int i : running_) {
      Measurement& result = results_[static_cast<size_t>(i)];
      if (result.runs == 0) continue;
      result.outcome = Outcome::kTimed;
      // Of one or two runs nobody knows how far they are off: a better guess stays unless it is clearly slower.
      if (result.runs < kFewestRuns) result.spread = static_cast<float>(kMostSpread);
    }
    return std::move(results_);
  }

  double budgets_spent() const { return (clock_() - start_) / rules_.budget_us; }

  double estimate(int i, int round) const {
    const size_t contestant = static_cast<size_t>(i);
    return round < kFewestForQuartile ? samples_[contestant].front() : results_[contestant].time_us;
  }

  int best() const {
    return *std::min_element(running_.begin(), running_.end(), [&](int a, int b) {
      return results_[static_cast<size_t>(a)].time_us < results_[static_cast<size_t>(b)].time_us;
    });
  }

  void drop_the_slow(int round) {
    double fastest = estimate(running_.front(), round);
    for (const int i : running_) fastest = std::min(fastest, estimate(i, round));
    const bool is_out_of_time = round >= kFewestRuns && budgets_spent() > 1;
    std::erase_if(running_, [&](int i) {
      const double slack = is_out_of_time ? kSlackOutOfTime : slack_of(i, round);
      if (estimate(i, round) <= fastest * slack) return false;
      results_[static_cast<size_t>(i)].outcome = Outcome::kDropped;
      return true;
    });
  }

  double slack_of(int i, int round) const {
    if (round < kFewestForQuartile) return kSlack[round - 1];
    // Runs of microseconds scatter by tens of percent: two standard errors keep who may yet turn out the best.
    return std::max(kLeastSlack, 1 + 2.0 * results_[static_cast<size_t>(i)].spread);
  }

  // Whether more runs could still change who wins.
  bool is_decided() const {
    const int first = running_.front(), fastest = best();
    if (first == fastest) {
      // The lower index also has the better time: nobody behind it can win but by becoming clearly faster.
      return std::all_of(running_.begin() + 1, running_.end(), [&](int i) { return is_apart(first, i); });
    }
    return is_apart(fastest, first);
  }

  bool is_apart(int fast, int slow) const {
    const Measurement &a = results_[static_cast<size_t>(fast)], &b = results_[static_cast<size_t>(slow)];
    return b.time_us > a.time_us * (1 + 2 * tolerance_between(a, b));
  }

  bool is_over(int round) const {
    if (round < kFewestRuns) return false;
    const double spent = budgets_spent();
    if (spent > 4) return true;
    if (round < rules_.runs) return false;
    return spent > 1 || running_.size() == 1 || round >= kExtraRounds * rules_.runs || is_decided();
  }

  const RaceRules& rules_;
  const RunOnce& run_once_;
  const Clock& clock_;
  const double start_;
  std::vector<int> running_;
  std::vector<std::vector<double>> samples_;
  std::vector<Measurement> results_;
};

}  // namespace

std::vector<Measurement> race(int contestants, const RaceRules& rules, const RunOnce& run_once, const Clock& clock) {
  return Race(contestants, rules, run_once, clock).run();
}

Measurement summarize(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  const size_t count = samples.size();
  const double quartile = quantile(samples, 0.25);
  Measurement result;
  result.time_us = static_cast<float>(quartile);
  result.runs = static_cast<int32_t>(count);
  if (count >= 4 && quartile > 0) {
    // From its eighth to its median a normal distribution takes 1.15 deviations; the standard error of its lower
    // quartile is 1.36 of them over sqrt(n).
    const double width = quantile(samples, 0.5) - quantile(samples, 0.125);
    result.spread = static_cast<float>(width / 1.15 * 1.36 / std::sqrt(static_cast<double>(count)) / quartile);
  }
  return result;
}

int winner_of(const std::vector<Measurement>& measurements) {
  const Measurement* fastest = nullptr;
  for (const Measurement& m : measurements) {
    if (m.outcome == Outcome::kTimed && (fastest == nullptr || m.time_us < fastest->time_us)) fastest = &m;
  }
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const bool wins = fastest == nullptr ? is_usable(m.outcome)
                                         : m.outcome == Outcome::kTimed &&
                                               m.time_us <= fastest->time_us * (1 + tolerance_between(m, *fastest));
    if (wins) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace planwright::tactics
