// From a graph to the plan of an engine: passes, tactics for each profile, memory, emission.
#ifndef PLANWRIGHT_BUILDER_BUILD_H_
#define PLANWRIGHT_BUILDER_BUILD_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/passes/passes.h"
#include "builder/profile.h"
#include "planfmt/plan_model.h"
#include "tactics/select.h"

namespace planwright::builder {

// What is demanded of steps, by their names; what they are fused of keeps its say under the fused step's name.
struct StepPins {
  std::set<std::string> fp32;          // multiply in no less than their type, whatever there is leave for
  std::set<std::string> bf16;          // with leave for bf16 multiply in it wherever a kernel can
  std::set<std::string> fp32_outputs;  // exchange no bf16 with others
};

struct BuildOptions {
  std::vector<Profile> profiles;
  tactics::SearchOptions search;
  std::optional<WeightRounding> weight_only;        // leave to round weights
  const ir::PrecisionPolicy* precisions = nullptr;  // leave for int8
  bool expose_activations = false;                  // as outputs (activation_output), of which levels can be made
  // With leave for bf16: how many of the contractions (those outside bodies, in order of execution) stay in fp32.
  int exact_contractions = 0;
  StepPins pins;
  std::function<void(const std::string& pass, const ir::Graph&)> observe_pass;  // may be empty
  // Before tactics are timed, with the names of all profiles' layers; may be empty, may throw to stop the build.
  std::function<void(const std::vector<std::string>& layers)> begin_search;
};

// What the report says of one profile.
struct ProgramStats {
  uint64_t arena_bytes = 0;        // scratch for the threads tuned for included
  uint64_t arena_lower_bound = 0;  // the largest sum of sizes alive at one step
  int steps = 0;
  // Layers with work to speak of that only a reference kernel can do, as "NAME, MatMul fp16".
  std::vector<std::string> on_reference;
};

struct BuildResult {
  planfmt::PlanModel plan;
  std::vector<ProgramStats> programs;  // one per profile
  tactics::SearchStats search;
  int onnx_nodes = 0;                             // the user's nodes that the steps do the work of
  int contractions = 0;                           // outside bodies
  std::vector<ir::QuantisableLayer> quantisable;  // where there is leave for int8, or activations are exposed
};

// Throws Error; std::logic_error only for a fault of Planwright itself.
BuildResult build(ir::Graph graph, const BuildOptions& options);

// The same in two parts, for several builds of one model: the first is the same for all of them (it uses
// `observe_pass` alone), and the second takes a copy of what it gives.
ir::Graph prepare(ir::Graph graph, const BuildOptions& options);
BuildResult build_prepared(ir::Graph graph, const BuildOptions& options);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_BUILD_H_
