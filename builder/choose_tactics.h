// The steps of every profile, each with its tactic.
#ifndef PLANWRIGHT_BUILDER_CHOOSE_TACTICS_H_
#define PLANWRIGHT_BUILDER_CHOOSE_TACTICS_H_

#include <vector>

#include "builder/box.h"
#include "builder/build.h"
#include "builder/emit.h"
#include "builder/ir/graph.h"

namespace planwright::builder {

// One program a box, after all passes. With leave for bf16, what kernels in bf16 hand to one another becomes bf16 in
// the graph too where that makes the steps faster. Throws as select_tactics, and Error where a shape cannot be.
std::vector<std::vector<PlannedStep>> choose_tactics(ir::Graph& graph, const std::vector<Box>& boxes,
                                                     const BuildOptions& options, tactics::SearchStats* stats);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_CHOOSE_TACTICS_H_
