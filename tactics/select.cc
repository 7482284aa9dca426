#include "tactics/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "schemas/types/error.h"
#include "tactics/fingerprint.h"
#include "tactics/kernels/custom.h"
#include "tactics/kernels/registry.h"
#include "tactics/timing_cache.h"
#include "tactics/trial_process.h"

namespace planwright::tactics {
namespace {

// What racing one step may take at each optimisation level, in microseconds. A network of a hundred distinct layers
// then tunes in under a minute at the default level, operands and comparison included.
constexpr double kBudgetUs[] = {0, 40e3, 100e3, 250e3, 1e6, 5e6};
// More than one timed run in five interrupted: the median no longer hides it.
constexpr double kContendedShare = 0.2;

[[noreturn]] void throw_no_candidate(const StepSpec& spec, const std::vector<Refusal>& refusals) {
  if (spec.custom != nullptr) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("layer {}: its plugin refuses it: {}", spec.name, refusals.at(0).reason));
  }
  // Mostly all refuse for one reason, a shape that is too large: said once.
  std::vector<std::pair<std::string, std::string>> kernels_by_reason;
  for (const Refusal& refusal : refusals) {
    const auto same = std::find_if(kernels_by_reason.begin(), kernels_by_reason.end(),
                                   [&](const auto& entry) { return entry.first == refusal.reason; });
    if (same == kernels_by_reason.end()) {
      kernels_by_reason.emplace_back(refusal.reason, refusal.kernel->name);
    } else {
      same->second += std::string(", ") + refusal.kernel->name;
    }
  }
  std::string reasons;
  for (const auto& [reason, kernels] : kernels_by_reason) {
    reasons += kernels_by_reason.size() == 1 ? fmt::format(" {}", reason) : fmt::format("\n  {}: {}", kernels, reason);
  }
  throw Error(StatusCode::kResource,
              fmt::format("layer {} ({}): no tactic may run it:{}", spec.name, operator_of(spec), reasons));
}

// The identity of a race: the work, the rules, who takes part. Another level or selection of kernels is another race,
// whose times say nothing of this one; so what a build chose it chooses again, whatever was built with the cache since.
TacticKey race_key(const TacticKey& work, const std::vector<Candidate>& tried, const SearchOptions& options) {
  std::vector<int64_t> race{options.optimization_level, options.avg_timing, static_cast<int64_t>(tried.size())};
  for (const Candidate& candidate : tried) {
    const std::string_view kernel = candidate.kernel->name;
    race.push_back(static_cast<int64_t>(kernel.size()));
    race.insert(race.end(), kernel.begin(), kernel.end());
    race.insert(race.end(), std::begin(candidate.tactic.v), std::end(candidate.tactic.v));
  }
  return combined(work, race);
}

class Selection {
 public:
  Selection(const SearchOptions& options, SearchStats* stats)
      : options_(options),
        stats_(*stats),
        cache_(options.optimization_level > 0 ? options.timing_cache_path : "", device_fingerprint(), options.warn) {}

  Choice choose(const StepSpec& spec, const std::vector<const StepSpec*>& corners) {
    if (is_cancelled()) throw Error(StatusCode::kCancelled, "interrupted while choosing tactics");
    // Equal work with equal corners has equal candidates.
    std::vector<TacticKey> identity{key_of(spec, options_.threads)};
    for (const StepSpec* corner : corners) identity.push_back(key_of(*corner, options_.threads));
    if (const auto known = chosen_.find(identity); known != chosen_.end()) {
      Choice same = known->second;
      same.timed = 0;
      return same;
    }
    return chosen_[identity] = choose_new(spec, corners, identity.front());
  }

  // Keeps what was timed, also when the build is cancelled (FAULTS B24).
  void finish() {
    cache_.save();
    if (options_.warn && disturbed_ > kContendedShare * timed_runs_) {
      options_.warn(
          fmt::format("other processes contend for the cores: {} of {} timed runs were interrupted, so tactics may "
                      "not be the best ones; build on an idle machine, or with fewer --threads",
                      disturbed_, timed_runs_));
    }
  }

 private:
  bool is_cancelled() const { return options_.cancelled && options_.cancelled(); }

  Choice choose_new(const StepSpec& spec, const std::vector<const StepSpec*>& corners, const TacticKey& work) {
    std::vector<Refusal> refusals;
    const std::vector<Candidate> list = candidates(spec, corners, options_, &refusals);
    if (list.empty()) throw_no_candidate(spec, refusals);
    Choice choice;
    choice.candidate = list.front();
    // The reference kernel is many times slower than any other, so it is never raced: not even alone.
    const KernelDescriptor* reference = spec.custom != nullptr ? nullptr : &reference_kernel(spec.op);
    std::vector<Candidate> tried = list;
    std::erase_if(tried, [&](const Candidate& candidate) { return candidate.kernel == reference; });
    if (options_.optimization_level == 0 || tried.empty()) return choice;

    const TacticKey key = race_key(work, tried, options_);
    std::optional<std::vector<Measurement>> measurements = cache_.find(key, tried);
    choice.from_cache = measurements.has_value();
    if (choice.from_cache) {
      ++stats_.cache_hits;
    } else {
      measurements = measure(spec, tried);
      // A plugin may be mended without another version: that it failed is not remembered.
      if (spec.custom == nullptr || is_usable(measurements->front().outcome)) cache_.put(key, tried, *measurements);
      choice.timed = static_cast<int>(tried.size());
      stats_.timed += choice.timed;
    }
    if (spec.custom != nullptr) check_custom(spec, measurements->front());
    report_excluded(spec, tried, *measurements);
    if (const int winner = winner_of(*measurements); winner >= 0) {
      const Measurement& best = (*measurements)[static_cast<size_t>(winner)];
      choice.candidate = tried[static_cast<size_t>(winner)];
      choice.time_us = best.time_us;
      choice.spread = best.spread;
    } else if (list.back().kernel == reference) {
      choice.candidate = list.back();
    } else {
      throw Error(StatusCode::kUnsupported,
                  fmt::format("layer {} ({}): every tactic failed when it was tried, and --tacticSources excludes the "
                              "reference kernel:\n  {}",
                              spec.name, operator_of(spec), fmt::join(stats_.excluded, "\n  ")));
    }
    return choice;
  }

  std::vector<Measurement> measure(const StepSpec& spec, const std::vector<Candidate>& tried) {
    const int level = std::clamp(options_.optimization_level, 0, 5);
    const TrialRules rules{options_.threads,
                           {std::max(options_.avg_timing, 1), kBudgetUs[level]},
                           /*use_reference=*/spec.custom == nullptr};
    TrialWatch watch;
    watch.cancelled = options_.cancelled;
    TrialResult result = try_candidates(spec, tried, rules, watch);
    timed_runs_ += result.timed_runs;
    disturbed_ += result.disturbed;
    reasons_ = std::move(result.reasons);
    return std::move(result.measurements);
  }

  // A plugin's kernel is the only one there is. It may refuse the operands that are made up here; it may not crash.
  void check_custom(const StepSpec& spec, Measurement& measurement) {
    if (is_usable(measurement.outcome)) return;
    if (measurement.outcome == Outcome::kFailed) {
      measurement = {};
      return;
    }
    throw Error(StatusCode::kUnsupported,
                fmt::format("layer {} ({}): its plugin's kernel {} when it was tried on made-up operands; correct the "
                            "plugin",
                            spec.name, spec.custom->title, words_for(measurement.outcome, reasons_.at(0))));
  }

  void report_excluded(const StepSpec& spec, const std::vector<Candidate>& tried,
                       const std::vector<Measurement>& measurements) {
    for (size_t i = 0; i < tried.size(); ++i) {
      if (is_usable(measurements[i].outcome)) continue;
      const std::string& reason =
          i < reasons_.size() && !reasons_[i].empty() ? reasons_[i] : "known from the timing cache";
      stats_.excluded.push_back(fmt::format("{} on layer {}: {}", tried[i].kernel->name, spec.name,
                                            words_for(measurements[i].outcome, reason)));
    }
    reasons_.clear();
  }

  static std::string words_for(Outcome outcome, const std::string& reason) {
    switch (outcome) {
      case Outcome::kWrong: return "differs from the reference (" + reason + ")";
      case Outcome::kFailed: return "failed (" + reason + ")";
      case Outcome::kHung: return "hung (" + reason + ")";
      default: return "crashed (" + reason + ")";
    }
  }

  const SearchOptions& options_;
  SearchStats& stats_;
  TimingCache cache_;
  std::map<std::vector<TacticKey>, Choice> chosen_;
  std::vector<std::string> reasons_;  // of the last measure()
  int timed_runs_ = 0, disturbed_ = 0;
};

}  // namespace

std::vector<Choice> select_tactics(const std::vector<StepSpec>& specs,
                                   const std::vector<std::vector<const StepSpec*>>& corners,
                                   const SearchOptions& options, SearchStats* stats) {
  *stats = {};
  Selection selection(options, stats);
  std::vector<Choice> choices;
  try {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (options.progress) options.progress(i, specs.size(), specs[i].name);
      choices.push_back(selection.choose(specs[i], corners[i]));
    }
  } catch (...) {
    selection.finish();
    throw;
  }
  selection.finish();
  if (options.progress) options.progress(specs.size(), specs.size(), "");
  return choices;
}

}  // namespace planwright::tactics
