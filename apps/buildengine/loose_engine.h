// Engines that are run while another one is being built.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_LOOSE_ENGINE_H_
#define PLANWRIGHT_APPS_BUILDENGINE_LOOSE_ENGINE_H_

#include <memory>
#include <optional>
#include <planwright/planwright.hpp>
#include <vector>

#include "apps/common/inference.h"
#include "planfmt/plan_model.h"

namespace planwright::apps {

// An engine in memory, without its file.
class LooseEngine {
 public:
  explicit LooseEngine(const planfmt::PlanModel& plan);
  const pw::Engine& operator*() const { return *engine_; }

 private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<pw::Engine> engine_;
};

// Runs an engine on one set of inputs after another, each at its own shapes.
class SampleRunner {
 public:
  explicit SampleRunner(const pw::Engine& engine) : engine_(engine) {}
  // Until the next run. Throws pw::Failure.
  const Tensors& run(const Tensors& inputs);

 private:
  const pw::Engine& engine_;
  Tensors inputs_;                       // bound to the context
  std::optional<BoundContext> context_;  // of the shapes of `inputs_`
};

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_LOOSE_ENGINE_H_
