#include "tactics/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "schemas/types/error.h"
#include "tactics/cache_state.h"
#include "tactics/clock.h"
#include "tactics/contest.h"
#include "tactics/fingerprint.h"
#include "tactics/kernels/custom.h"
#include "tactics/kernels/registry.h"
#include "tactics/pack.h"
#include "tactics/search_budget.h"
#include "tactics/timing_cache.h"
#include "tactics/trial_process.h"
#include "tactics/weight_bound.h"
#include "tactics/work.h"

namespace planwright::tactics {
namespace {

// More than one timed run in five interrupted: the quartile hardly hides it.
constexpr double kContendedShare = 0.2;

[[noreturn]] void throw_no_candidate(const StepSpec& spec, Isa isa, std::vector<Refusal> refusals) {
  if (spec.custom != nullptr) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("layer {}: its plugin refuses it: {}", spec.name, refusals.at(0).reason));
  }
  // That some are for other CPUs says nothing: of every operator there are kernels for this one.
  std::erase_if(refusals, [&](const Refusal& refusal) { return refusal.kernel->isa > isa; });
  // Mostly all refuse for one reason, a shape that is too large: said once.
  const auto groups = kernels_by_reason(refusals);
  std::string reasons;
  for (const auto& [reason, kernels] : groups) {
    reasons += groups.size() == 1 ? fmt::format(" {}", reason) : fmt::format("\n  {}: {}", kernels, reason);
  }
  throw Error(StatusCode::kResource,
              fmt::format("layer {} ({}): no tactic may run it:{}", spec.name, operator_of(spec), reasons));
}

// The identity of a race: the work, the caches, the rules, who takes part. Another level or selection of kernels is
// another race, whose times say nothing of this one; so what a build chose it chooses again, whatever was built with
// the cache since.
TacticKey race_key(const TacticKey& work, const std::vector<Candidate>& tried, const SearchOptions& options,
                   size_t swept_bytes) {
  std::vector<int64_t> race{options.optimization_level, options.avg_timing, static_cast<int64_t>(swept_bytes),
                            static_cast<int64_t>(tried.size())};
  if (options.contexts > 1) race.push_back(options.contexts);
  for (const Candidate& candidate : tried) {
    const std::string_view kernel = candidate.kernel->name;
    race.push_back(static_cast<int64_t>(kernel.size()));
    race.insert(race.end(), kernel.begin(), kernel.end());
    race.insert(race.end(), std::begin(candidate.tactic.v), std::end(candidate.tactic.v));
  }
  return combined(work, race);
}

class Search {
 public:
  Search(const std::vector<StepSpec>& specs, const SearchOptions& options, SearchStats* stats)
      : options_(options),
        stats_(*stats),
        swept_bytes_(swept_bytes(std::max(options.working_set, working_set_of(specs)))),
        cache_(options.optimization_level > 0 ? options.timing_cache_path : "", device_fingerprint(), options.warn) {}

  // Adds a layer: to the contest for its work, or with a new one.
  void enter(const StepSpec& spec, const std::vector<const StepSpec*>& corners) {
    stop_if_cancelled();
    // Equal work with equal corners has equal candidates.
    std::vector<TacticKey> identity{key_of(spec, options_.threads)};
    for (const StepSpec* corner : corners) identity.push_back(key_of(*corner, options_.threads));
    const auto [known, is_new] = numbers_.try_emplace(identity, contests_.size());
    contest_of_.push_back(known->second);
    if (is_new) {
      contests_.push_back(new_contest(spec, corners, identity.front()));
    } else {
      ++contests_[known->second].layers;
    }
  }

  // Times what is not known yet.
  void time() {
    std::vector<Contest*> unknown;
    std::vector<TrialEstimate> estimates;
    double all_us = 0;
    for (const Contest& contest : contests_) all_us += fast_run_us(*contest.spec) * contest.layers;
    for (Contest& contest : contests_) {
      if (options_.optimization_level == 0 || contest.tried.empty() || contest.measurements) continue;
      unknown.push_back(&contest);
      const double share = all_us > 0 ? fast_run_us(*contest.spec) * contest.layers / all_us : 0;
      contest.race_us = race_budget_us(options_.optimization_level, share);
      estimates.push_back(estimate_trial(*contest.spec, contest.layers, contest.tried.size(), contest.race_us));
    }
    const std::vector<size_t> order = heaviest_first(estimates);
    std::vector<TrialEstimate> in_order;
    for (const size_t i : order) in_order.push_back(estimates[i]);
    const SearchBudget budget(options_.budget_seconds * 1e6, std::move(in_order), now_us);
    for (size_t done = 0; done < order.size(); ++done) {
      Contest& contest = *unknown[order[done]];
      if (options_.progress) options_.progress(done, order.size(), contest.spec->name);
      stop_if_cancelled();
      // The same race between other corners may have been timed since.
      if (look_up(contest)) continue;
      if (const std::optional<double> deadline_us = budget.deadline_of(done)) {
        measure(contest, *deadline_us);
      } else {
        contest.basis = Basis::kNoBudget;
      }
    }
    // Shares are cut on the safe side, so time may be left over.
    for (size_t i = 0; i < order.size(); ++i) {
      Contest& contest = *unknown[order[i]];
      if (contest.basis != Basis::kCutShort) continue;
      stop_if_cancelled();
      if (const std::optional<double> deadline_us = budget.second_deadline_of(i)) measure(contest, *deadline_us);
    }
    if (options_.progress) options_.progress(order.size(), order.size(), "");
  }

  // One for each layer, in the order in which they were entered.
  std::vector<Choice> choose(const std::vector<StepSpec>& specs) {
    std::vector<Choice> decided, choices;
    for (Contest& contest : contests_) decided.push_back(decide(contest));
    const std::vector<size_t> chosen = chosen_by_layer();
    for (size_t i = 0; i < contest_of_.size(); ++i) {
      const size_t number = contest_of_[i];
      choices.push_back(decided[number]);
      stats_.timed += decided[number].timed;
      decided[number].timed = 0;  // once, for the first layer
      const Contest& contest = contests_[number];
      if (chosen[i] != contest.chosen) {
        const Measurement& smaller = (*contest.measurements)[chosen[i]];
        choices.back().candidate = contest.candidates[chosen[i]];
        choices.back().time_us = smaller.time_us;
        choices.back().spread = smaller.spread;
      }
      count(contest.basis);
      if (options_.explain) stats_.explanations.push_back(explain(contest, specs[i].name, chosen[i]));
    }
    return choices;
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
  void stop_if_cancelled() const {
    if (options_.cancelled && options_.cancelled()) {
      throw Error(StatusCode::kCancelled, "interrupted while choosing tactics");
    }
  }

  // The reference kernel is many times slower than any other, so it is never raced: not even alone.
  const KernelDescriptor* last_resort(const StepSpec& spec) const {
    return spec.custom != nullptr ? nullptr : &reference_kernel(spec.op);
  }

  Contest new_contest(const StepSpec& spec, const std::vector<const StepSpec*>& corners, const TacticKey& work) {
    Contest contest;
    contest.spec = &spec;
    contest.candidates = candidates(spec, corners, options_, &contest.refusals);
    if (contest.candidates.empty()) throw_no_candidate(spec, options_.isa, contest.refusals);
    for (const Candidate& candidate : contest.candidates) {
      if (contest.tried.size() == static_cast<size_t>(options_.max_tactics)) break;
      if (candidate.kernel != last_resort(spec)) contest.tried.push_back(candidate);
    }
    if (options_.optimization_level == 0 || contest.tried.empty()) return contest;
    contest.key = race_key(work, contest.tried, options_, swept_bytes_);
    look_up(contest);
    return contest;
  }

  bool look_up(Contest& contest) {
    contest.measurements = cache_.find(contest.key, contest.tried);
    if (!contest.measurements) return false;
    contest.basis = Basis::kCache;
    ++stats_.cache_hits;
    return true;
  }

  void measure(Contest& contest, double deadline_us) {
    const StepSpec& spec = *contest.spec;
    const TrialRules rules{.threads = options_.threads,
                           .contexts = options_.contexts,
                           .race = {std::max(options_.avg_timing, 1), contest.race_us, deadline_us},
                           .use_reference = spec.custom == nullptr,
                           .swept_bytes = swept_bytes_};
    TrialWatch watch;
    watch.cancelled = options_.cancelled;
    TrialResult result = try_candidates(spec, contest.tried, rules, watch);
    timed_runs_ += result.timed_runs;
    disturbed_ += result.disturbed;
    contest.basis = result.cut_short ? Basis::kCutShort : Basis::kTimed;
    contest.reasons = std::move(result.reasons);
    contest.measurements = std::move(result.measurements);
    // A later build would take a trial that the budget cut short for a whole one: it is timed again instead, with what
    // the layers that are in the cache by then leave it. A plugin may be mended without another version: that it failed
    // is not remembered.
    const bool is_sound = spec.custom == nullptr || is_usable(contest.measurements->front().outcome);
    if (!result.cut_short && is_sound) cache_.put(contest.key, contest.tried, *contest.measurements);
  }

  Choice decide(Contest& contest) {
    const StepSpec& spec = *contest.spec;
    Choice choice;
    if (contest.measurements) {
      if (spec.custom != nullptr) check_custom(contest);
      report_excluded(contest);
      const int winner = winner_of(*contest.measurements);
      if (winner >= 0) {
        const Measurement& best = (*contest.measurements)[static_cast<size_t>(winner)];
        contest.chosen = static_cast<size_t>(winner);
        choice.time_us = best.time_us;
        choice.spread = best.spread;
      } else if (contest.candidates.back().kernel == last_resort(spec)) {
        contest.chosen = contest.candidates.size() - 1;
      } else {
        throw Error(
            StatusCode::kUnsupported,
            fmt::format("layer {} ({}): every tactic failed when it was tried, and --tacticSources excludes the "
                        "reference kernel:\n  {}",
                        spec.name, operator_of(spec), fmt::join(stats_.excluded, "\n  ")));
      }
      choice.from_cache = contest.basis == Basis::kCache;
      if (!choice.from_cache) choice.timed = timed_in(contest);
    }
    choice.candidate = contest.candidates[contest.chosen];
    return choice;
  }

  // Of each layer's candidates the one to take: the contest's winner, or where weights would pass their bound one that
  // stores them smaller.
  std::vector<size_t> chosen_by_layer() const {
    std::vector<PackedLayer> layers;
    uint64_t plain_bytes = 0;
    for (const size_t number : contest_of_) {
      const Contest& contest = contests_[number];
      PackedLayer& layer = layers.emplace_back();
      const uint64_t own_bytes = constant_bytes(*contest.spec, 0);
      plain_bytes += own_bytes;
      if (!contest.measurements || own_bytes == 0) continue;
      for (size_t i = 0; i < contest.tried.size(); ++i) {
        const Measurement& measurement = (*contest.measurements)[i];
        if (i != contest.chosen && (!is_usable(measurement.outcome) || measurement.time_us <= 0)) continue;
        if (i == contest.chosen) layer.chosen = layer.tactics.size();
        layer.tactics.push_back({i, stored_bytes(*contest.spec, contest.tried[i]), measurement.time_us});
      }
      // A last resort stores what the model does.
      if (contest.chosen >= contest.tried.size()) layer.tactics.clear();
    }
    bound_weights(weight_limit(plain_bytes), &layers);
    std::vector<size_t> chosen;
    for (size_t i = 0; i < layers.size(); ++i) {
      const PackedLayer& layer = layers[i];
      chosen.push_back(layer.tactics.empty() ? contests_[contest_of_[i]].chosen
                                             : layer.tactics[layer.chosen].candidate);
    }
    return chosen;
  }

  // How many candidates a trial that nobody hurried tries, or those that had their turn in time.
  static int timed_in(const Contest& contest) {
    if (contest.basis != Basis::kCutShort) return static_cast<int>(contest.tried.size());
    return static_cast<int>(std::count_if(contest.measurements->begin(), contest.measurements->end(),
                                          [](const Measurement& m) { return m.outcome != Outcome::kUntried; }));
  }

  void count(Basis basis) {
    if (basis == Basis::kTimed || basis == Basis::kCutShort) ++stats_.layers_timed;
    if (basis == Basis::kCutShort) ++stats_.layers_cut_short;
    if (basis == Basis::kNoBudget) ++stats_.layers_guessed;
  }

  // A plugin's kernel is the only one there is. It may refuse the operands that are made up here; it may not crash.
  static void check_custom(Contest& contest) {
    const StepSpec& spec = *contest.spec;
    Measurement& measurement = contest.measurements->front();
    if (is_usable(measurement.outcome)) return;
    if (measurement.outcome == Outcome::kFailed) {
      measurement = {};
      return;
    }
    throw Error(StatusCode::kUnsupported,
                fmt::format("layer {} ({}): its plugin's kernel {} when it was tried on made-up operands; correct the "
                            "plugin",
                            spec.name, spec.custom->title, words_for(measurement.outcome, reason_of(contest, 0))));
  }

  void report_excluded(const Contest& contest) {
    for (size_t i = 0; i < contest.tried.size(); ++i) {
      const Outcome outcome = (*contest.measurements)[i].outcome;
      if (is_usable(outcome)) continue;
      stats_.excluded.push_back(fmt::format("{} on layer {}: {}", contest.tried[i].kernel->name, contest.spec->name,
                                            words_for(outcome, reason_of(contest, i))));
    }
  }

  const SearchOptions& options_;
  SearchStats& stats_;
  const size_t swept_bytes_;
  TimingCache cache_;
  std::map<std::vector<TacticKey>, size_t> numbers_;  // of contests, by their work
  std::vector<Contest> contests_;
  std::vector<size_t> contest_of_;  // each layer's
  int timed_runs_ = 0, disturbed_ = 0;
};

}  // namespace

std::vector<Choice> select_tactics(const std::vector<StepSpec>& specs,
                                   const std::vector<std::vector<const StepSpec*>>& corners,
                                   const SearchOptions& options, SearchStats* stats) {
  *stats = {};
  Search search(specs, options, stats);
  std::vector<Choice> choices;
  try {
    for (size_t i = 0; i < specs.size(); ++i) search.enter(specs[i], corners[i]);
    search.time();
    choices = search.choose(specs);
  } catch (...) {
    search.finish();
    throw;
  }
  search.finish();
  return choices;
}

}  // namespace planwright::tactics
