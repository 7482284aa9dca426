// Choosing a tactic for every step: candidates, the timing cache, timing.
#ifndef PLANWRIGHT_TACTICS_SELECT_H_
#define PLANWRIGHT_TACTICS_SELECT_H_

#include <climits>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tactics/explanation.h"
#include "tactics/step_spec.h"

namespace planwright::tactics {

struct Candidate {
  const KernelDescriptor* kernel = nullptr;
  TacticParams tactic;
};

struct SearchOptions {
  Isa isa = Isa::kReference;   // the highest tier candidates may use
  int optimization_level = 3;  // 0: first candidate, nothing timed
  int avg_timing = 8;          // runs a candidate at least gets
  int max_tactics = INT_MAX;   // candidates timed for a step, best guess first
  // What timing may take in all: heavy layers first; those that it does not last for take their first candidate.
  double budget_seconds = HUGE_VAL;
  int threads = 1;
  int contexts = 1;  // of the engine that will run at once
  // Bytes that a run of the engine goes through, if the steps to choose for are only some of its steps (work.h).
  double working_set = 0;
  bool bf16 = false;                          // whether kernels may multiply in bf16
  uint64_t workspace_limit = UINT64_MAX;      // bytes a tactic's workspace may take
  std::vector<std::string> excluded_sources;  // kernel name prefixes switched off (--tacticSources=-gemm)
  std::string timing_cache_path;              // empty: none is read or written
  bool explain = false;                       // fill in SearchStats::explanations
  std::function<bool()> cancelled;            // asked often; may be empty
  std::function<void(size_t done, size_t total, const std::string& layer)> progress;  // of timing; may be empty
  std::function<void(const std::string&)> warn;                                       // may be empty
};

// The family a kernel belongs to, as --tacticSources names it: "conv_transpose" of "conv_transpose_f32_6x2_avx2",
// "movement" of "movement_copy".
std::string tactic_source(const std::string& kernel);

// Why a kernel, or some of its parameter sets, are no candidates for a step.
struct Refusal {
  const KernelDescriptor* kernel;
  std::string reason;
};

// The tactics that can run the step at `spec` and at each of `corners` (the same step at other dims of its profile) and
// that are worth trying at the optimisation level, best guess first, the reference kernel last. `refusals` may be null.
std::vector<Candidate> candidates(const StepSpec& spec, const std::vector<const StepSpec*>& corners,
                                  const SearchOptions& options, std::vector<Refusal>* refusals);

struct Choice {
  Candidate candidate;
  float time_us = 0;  // lower quartile; 0: not timed
  float spread = 0;   // relative
  int timed = 0;      // candidates timed now
  bool from_cache = false;
};

struct SearchStats {
  int timed = 0;
  int cache_hits = 0;
  int layers_timed = 0, layers_cut_short = 0;  // layers whose work was timed; of those, until the budget's deadline
  int layers_guessed = 0;                      // layers that the budget did not last for
  std::vector<std::string> excluded;           // "kernel on layer: crashed", one message each
  std::vector<Explanation> explanations;       // one a spec
};

// A choice for each spec; equal work is timed once, the heaviest first. `corners[i]` as above. Throws Error(kCancelled)
// when cancelled (what was timed is in the cache file), Error(kResource) where no candidate fits the workspace limit.
std::vector<Choice> select_tactics(const std::vector<StepSpec>& specs,
                                   const std::vector<std::vector<const StepSpec*>>& corners,
                                   const SearchOptions& options, SearchStats* stats);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_SELECT_H_
