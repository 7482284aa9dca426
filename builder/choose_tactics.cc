#include "builder/choose_tactics.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "builder/half_storage.h"
#include "builder/precision.h"
#include "builder/spec.h"
#include "builder/storage.h"
#include "tactics/kernels/control.h"
#include "tactics/kernels/registry.h"
#include "tactics/work.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::NodeId;
using Programs = std::vector<std::vector<PlannedStep>>;

// The first `exact` of a graph's contractions (of a body's all, if any) and those that a logarithm follows.
std::set<NodeId> exact_nodes(const Graph& graph, bool is_body, int exact) {
  std::set<NodeId> nodes = nodes_before_logarithms(graph);
  const std::vector<NodeId> contractions = contractions_of(graph);
  const size_t count = is_body && exact > 0 ? contractions.size() : static_cast<size_t>(exact);
  nodes.insert(contractions.begin(),
               contractions.begin() + static_cast<ptrdiff_t>(std::min(count, contractions.size())));
  return nodes;
}

void plan_steps(const Graph& graph, bool is_body, const BuildOptions& options, const Box& box,
                std::vector<PlannedStep>* steps) {
  const std::set<NodeId> precise = exact_nodes(graph, is_body, options.exact_contractions);
  for (const NodeId id : steps_of(graph)) {
    const ir::Node& node = graph.node(id);
    PlannedStep& step = steps->emplace_back();
    step.node = id;
    step.is_body = is_body;
    if (is_control(node.kind)) {
      step.choice.candidate.kernel = &control_descriptor(node.kind);
      for (const auto& body : node.bodies) plan_steps(*body, true, options, box, steps);
      continue;
    }
    step.opt = make_spec(graph, node, box.opt());
    step.opt.only_bf16 = options.search.bf16 && options.pins.bf16.contains(node.name);
    step.opt.full_precision = !step.opt.only_bf16 && (precise.contains(id) || options.pins.fp32.contains(node.name));
    step.largest = make_largest_spec(graph, node, box);
    for (const SymbolValues& corner : box.corners(is_body)) step.corners.push_back(make_spec(graph, node, corner));
  }
}

Programs plan_programs(const Graph& graph, const BuildOptions& options, const std::vector<Box>& boxes) {
  Programs programs;
  for (const Box& box : boxes) plan_steps(graph, false, options, box, &programs.emplace_back());
  return programs;
}

// Chooses for the steps that have no tactic yet. One search for all profiles: what several do alike is timed once, and
// a budget goes where most of the work is.
void search(const tactics::SearchOptions& rules, Programs* programs, tactics::SearchStats* stats) {
  std::vector<tactics::StepSpec> specs;
  std::vector<std::vector<const tactics::StepSpec*>> corners;
  std::vector<PlannedStep*> undecided;
  std::vector<size_t> profiles;
  for (size_t profile = 0; profile < programs->size(); ++profile) {
    for (PlannedStep& step : (*programs)[profile]) {
      if (step.choice.candidate.kernel != nullptr) continue;
      undecided.push_back(&step);
      specs.push_back(step.opt);
      profiles.push_back(profile);
      std::vector<const tactics::StepSpec*>& list = corners.emplace_back();
      for (const tactics::StepSpec& corner : step.corners) list.push_back(&corner);
    }
  }
  const std::vector<tactics::Choice> choices = select_tactics(specs, corners, rules, stats);
  for (size_t i = 0; i < choices.size(); ++i) undecided[i]->choice = choices[i];
  for (size_t i = 0; i < stats->explanations.size(); ++i) stats->explanations[i].profile = profiles[i];
}

// ---- Values in bf16

// The contractions for which `is_half` holds in every profile.
std::set<NodeId> nodes_where(const Graph& graph, const Programs& programs,
                             const std::function<bool(const PlannedStep&)>& is_half) {
  std::set<NodeId> nodes;
  for (const NodeId id : steps_of(graph)) nodes.insert(id);
  for (const std::vector<PlannedStep>& steps : programs) {
    for (const PlannedStep& step : steps) {
      if (!step.is_body && !is_half(step)) nodes.erase(step.node);
    }
  }
  return nodes;
}

bool has_half_candidate(const PlannedStep& step, const tactics::SearchOptions& rules) {
  std::vector<const tactics::StepSpec*> corners;
  for (const tactics::StepSpec& corner : step.corners) corners.push_back(&corner);
  const std::vector<tactics::Candidate> list = tactics::candidates(step.opt, corners, rules, nullptr);
  return std::any_of(list.begin(), list.end(), [](const tactics::Candidate& candidate) {
    return candidate.kernel->precision == Precision::kBf16;
  });
}

bool same_types(const tactics::StepSpec& a, const tactics::StepSpec& b) {
  const auto same = [](const auto& x, const auto& y) { return x.dtype == y.dtype; };
  const auto same_views = [](const auto& x, const auto& y) { return x.view.dtype == y.view.dtype; };
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), same) &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), same_views);
}

// Whether the new steps are faster than the old ones where they differ, as far as anything was timed.
bool is_faster(const Programs& then, const Programs& now) {
  double time_then = 0, time_now = 0;
  for (size_t program = 0; program < now.size(); ++program) {
    for (size_t i = 0; i < now[program].size(); ++i) {
      const PlannedStep &before = then[program][i], &after = now[program][i];
      const KernelDescriptor* kernel = after.choice.candidate.kernel;
      if (before.choice.candidate.kernel != kernel && kernel == &reference_kernel(after.opt.op)) return false;
      time_then += before.choice.time_us;
      time_now += after.choice.time_us;
    }
  }
  return time_now <= time_then;
}

// What a second search found: its counts, and its explanations in place of the first one's.
void add_stats(tactics::SearchStats second, bool is_kept, tactics::SearchStats* stats) {
  stats->timed += second.timed;
  stats->cache_hits += second.cache_hits;
  stats->layers_timed += second.layers_timed;
  stats->layers_cut_short += second.layers_cut_short;
  stats->layers_guessed += second.layers_guessed;
  stats->excluded.insert(stats->excluded.end(), second.excluded.begin(), second.excluded.end());
  if (!is_kept) return;
  for (tactics::Explanation& explanation : second.explanations) {
    const auto is_same = [&](const tactics::Explanation& first) {
      return first.layer == explanation.layer && first.profile == explanation.profile;
    };
    const auto first = std::find_if(stats->explanations.begin(), stats->explanations.end(), is_same);
    if (first != stats->explanations.end()) *first = std::move(explanation);
  }
}

double working_set_of(const Programs& programs) {
  std::vector<tactics::StepSpec> specs;
  for (const std::vector<PlannedStep>& steps : programs) {
    for (const PlannedStep& step : steps) specs.push_back(step.opt);
  }
  return tactics::working_set_of(specs);
}

// Lets the contractions `multiplying` exchange bf16. Returns whether that is faster, and undoes it where not.
bool exchange_halves(Graph& graph, const std::set<NodeId>& multiplying, const std::vector<Box>& boxes,
                     const BuildOptions& options, const tactics::SearchOptions& rules, Programs* programs,
                     tactics::SearchStats* stats) {
  HalfStorage halves(graph, multiplying);
  if (halves.empty()) return false;
  halves.apply();
  Programs changed = plan_programs(graph, options, boxes);
  for (size_t program = 0; program < changed.size(); ++program) {
    for (size_t i = 0; i < changed[program].size(); ++i) {
      PlannedStep& step = changed[program][i];
      const PlannedStep& before = (*programs)[program][i];
      if (same_types(step.opt, before.opt)) step.choice = before.choice;
    }
  }
  tactics::SearchStats second;
  search(rules, &changed, &second);
  const bool is_kept = is_faster(*programs, changed);
  add_stats(std::move(second), is_kept, stats);
  if (is_kept) {
    *programs = std::move(changed);
  } else {
    halves.undo();
  }
  return is_kept;
}

}  // namespace

Programs choose_tactics(Graph& graph, const std::vector<Box>& boxes, const BuildOptions& options,
                        tactics::SearchStats* stats) {
  using Clock = std::chrono::steady_clock;
  Programs programs = plan_programs(graph, options, boxes);
  if (options.begin_search) {
    std::vector<std::string> layers;
    for (const std::vector<PlannedStep>& steps : programs) {
      for (const PlannedStep& step : steps) {
        if (step.choice.candidate.kernel == nullptr) layers.push_back(step.opt.name);
      }
    }
    options.begin_search(layers);
  }
  const Clock::time_point start = Clock::now();
  search(options.search, &programs, stats);
  if (!options.search.bf16) return programs;

  // Further searches are of some of the steps, in the same engine, with what is left of the time.
  const double working_set = working_set_of(programs);
  const auto exchange = [&](const std::set<NodeId>& multiplying) {
    tactics::SearchOptions rules = options.search;
    rules.working_set = working_set;
    rules.budget_seconds -= std::chrono::duration<double>(Clock::now() - start).count();
    rules.budget_seconds = std::max(0.0, rules.budget_seconds);
    return exchange_halves(graph, multiplying, boxes, options, rules, &programs, stats);
  };
  const auto may_exchange = [&](const PlannedStep& step) { return !options.pins.fp32_outputs.contains(step.opt.name); };
  // A layer that is slower in bf16 may hand its neighbours more than it loses, so first with all that can.
  const std::set<NodeId> able = nodes_where(graph, programs, [&](const PlannedStep& step) {
    return may_exchange(step) && takes_epilogue(step.opt.op) && has_half_candidate(step, options.search);
  });
  if (exchange(able)) return programs;
  const std::set<NodeId> faster = nodes_where(graph, programs, [&](const PlannedStep& step) {
    return may_exchange(step) && step.choice.candidate.kernel->precision == Precision::kBf16;
  });
  if (faster != able) exchange(faster);
  return programs;
}

}  // namespace planwright::builder
