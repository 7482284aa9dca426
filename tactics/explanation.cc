#include "tactics/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "tactics/contest.h"
#include "tactics/kernels/registry.h"

namespace planwright::tactics {
namespace {

std::string title_of(const Candidate& candidate) {
  const auto begin = std::begin(candidate.tactic.v);
  auto end = std::end(candidate.tactic.v);
  while (end != begin && end[-1] == 0) --end;
  std::string name = candidate.kernel->name;
  if (end != begin) name += fmt::format(" {{{}}}", fmt::join(begin, end, ", "));
  return name;
}

std::string basis_of(const Contest& contest) {
  switch (contest.basis) {
    case Basis::kGuess:
      return contest.tried.empty() ? "nothing to choose from" : "not timed at level 0: the first one is taken";
    case Basis::kNoBudget: return "not timed, --budget was spent: the first one is taken";
    case Basis::kCache: return "times from the timing cache";
    case Basis::kTimed: return "timed";
    case Basis::kCutShort: return "timed until its share of --budget was spent";
  }
  return "";
}

bool is_reference(const Candidate& candidate, const Contest& contest) {
  return contest.spec->custom == nullptr && candidate.kernel == &reference_kernel(contest.spec->op);
}

// What became of candidate `index` of those tried, once measured.
ExplainedTactic fate_of(const Contest& contest, size_t index) {
  const Measurement& measurement = (*contest.measurements)[index];
  ExplainedTactic tactic;
  if (!is_usable(measurement.outcome)) {
    tactic.remark = words_for(measurement.outcome, reason_of(contest, index));
    return tactic;
  }
  tactic.time_us = measurement.time_us;
  tactic.spread = measurement.spread;
  if (measurement.outcome == Outcome::kDropped) {
    tactic.remark =
        fmt::format("clearly slower, dropped after {} run{}", measurement.runs, measurement.runs == 1 ? "" : "s");
  } else if (measurement.outcome == Outcome::kUntried) {
    tactic.remark = contest.basis == Basis::kCutShort ? "not timed: the layer's share of --budget was spent"
                                                      : "not timed: it takes no operands that could be made up";
  }
  return tactic;
}

}  // namespace

Explanation explain(const Contest& contest, const std::string& layer, size_t chosen) {
  Explanation explanation;
  explanation.layer = layer;
  explanation.op = operator_of(*contest.spec);
  explanation.basis = basis_of(contest);
  if (layer != contest.spec->name) explanation.basis += fmt::format("; the same work as layer {}", contest.spec->name);
  for (size_t i = 0; i < contest.candidates.size(); ++i) {
    ExplainedTactic tactic;
    if (i < contest.tried.size()) {
      if (contest.measurements) tactic = fate_of(contest, i);
    } else if (is_reference(contest.candidates[i], contest)) {
      tactic.remark = "the last resort, never timed";
    } else {
      tactic.remark = fmt::format("not among the first {} (--maxTactics)", contest.tried.size());
    }
    tactic.name = title_of(contest.candidates[i]);
    tactic.is_chosen = i == chosen;
    explanation.tactics.push_back(std::move(tactic));
  }
  std::stable_sort(explanation.tactics.begin(), explanation.tactics.end(),
                   [](const ExplainedTactic& a, const ExplainedTactic& b) {
                     return a.time_us > 0 && (b.time_us <= 0 || a.time_us < b.time_us);
                   });
  const ExplainedTactic& fastest = explanation.tactics.front();
  for (ExplainedTactic& tactic : explanation.tactics) {
    if (!tactic.is_chosen || tactic.time_us <= 0 || &tactic == &fastest) continue;
    tactic.remark = chosen == contest.chosen ? "as fast within the noise, and the better guess"
                                             : "of smaller weights, which would take too much memory in all";
  }
  explanation.refused_by = kernels_by_reason(contest.refusals);
  return explanation;
}

}  // namespace planwright::tactics
