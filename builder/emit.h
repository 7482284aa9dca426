// Writes the placed graph down as a plan: expressions, bindings, guards, and one program a profile.
#ifndef PLANWRIGHT_BUILDER_EMIT_H_
#define PLANWRIGHT_BUILDER_EMIT_H_

#include <map>
#include <string>
#include <vector>

#include "builder/box.h"
#include "builder/build.h"
#include "builder/expressions.h"
#include "builder/ir/graph.h"
#include "planfmt/plan_model.h"
#include "tactics/select.h"

namespace planwright::builder {

// A node that becomes a step: its work at the profile's opt and corners, what bounds its memory, and the tactic chosen.
// The steps of its bodies follow one of control flow, whose tactic is its descriptor.
struct PlannedStep {
  ir::NodeId node = ir::kNone;
  bool is_body = false;  // whether the node is a body's
  tactics::StepSpec opt;
  std::vector<tactics::StepSpec> corners;
  tactics::StepSpec largest;
  tactics::Choice choice;
};

class PlanEmitter {
 public:
  // `graph` has been through all passes and outlives the emitter.
  PlanEmitter(const ir::Graph& graph, const BuildOptions& options);

  // The program of profile `index`, with places of its own for the shapes of `up_to_opt`, which may be null. Throws
  // Error(kResource) where sizes at the profile's maximum overflow.
  ProgramStats add_program(size_t index, const Box& box, const Box* up_to_opt, const std::vector<PlannedStep>& steps);

  planfmt::PlanModel take();

 private:
  void add_bindings();
  void add_profile(const Profile& profile);

  const ir::Graph& graph_;
  planfmt::PlanModel plan_;
  ExpressionTable expressions_;
  std::vector<int32_t> branch_of_guard_;
  std::map<int32_t, uint32_t> region_of_;                         // of bodies, by the number of their graph
  std::map<std::pair<std::string, uint32_t>, uint32_t> kernels_;  // by name and revision
};

// The user's nodes that each step does the work of: those of the nodes that became no step are added to the step that
// made their input, or where the caller or a constant did, to the first that reads their output.
std::vector<std::vector<std::string>> onnx_names(const ir::Graph& graph, const std::vector<ir::NodeId>& steps);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_EMIT_H_
