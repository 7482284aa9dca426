// How far an engine's outputs are from those in fp32: with rounded weights (--weightOnly), and kept close where it
// multiplies in bf16 (--maxDrop).
#ifndef PLANWRIGHT_APPS_BUILDENGINE_ACCURACY_H_
#define PLANWRIGHT_APPS_BUILDENGINE_ACCURACY_H_

#include <functional>
#include <string>

#include "builder/build.h"

namespace planwright::apps {

// Whether any step of the plan multiplies in bf16.
bool multiplies_in_bf16(const planfmt::PlanModel& plan);

struct AccuracyRequest {
  std::function<ir::Graph()> import;  // the model's graph, anew
  builder::BuildOptions options;
  double max_drop;          // of 1 - cosine, of each output that holds floats
  bool obeys_pins = false;  // to bf16; else they are dropped where they lead too far off
  std::function<void(const std::string&)> say, warn;
};

// Says how far apart the engine that `request` was built to and one of the model's own weights are, on the same random
// inputs at each profile's opt.
void report_rounding(const AccuracyRequest& request, const builder::BuildResult& built);

// Runs the engine that `request` was built to and one in fp32 on the same random inputs, at each profile's opt. Where
// outputs are further apart than allowed, builds again with as many of the first contractions in fp32 as that takes,
// for what is rounded early goes through all that follows; all of them, if need be. The plan's note says what is left.
// Throws Error(kInvalid) where the pins that are obeyed lead too far off.
builder::BuildResult keep_accuracy(const AccuracyRequest& request, builder::BuildResult built);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_ACCURACY_H_
