#include "apps/buildengine/held_out.h"

#include <utility>

#include "apps/buildengine/loose_engine.h"
#include "apps/common/interrupt.h"

namespace planwright::apps {

HeldOut::HeldOut(std::vector<Tensors> samples, const planfmt::PlanModel& exact) : samples_(std::move(samples)) {
  const LooseEngine engine(exact);
  SampleRunner runner(*engine);
  for (const Tensors& sample : samples_) {
    stop_if_interrupted();
    wanted_.push_back(runner.run(sample));
  }
}

Drop HeldOut::drop_of(const planfmt::PlanModel& plan) const {
  const LooseEngine engine(plan);
  SampleRunner runner(*engine);
  Drop worst;
  for (size_t i = 0; i < samples_.size(); ++i) {
    stop_if_interrupted();
    worst = worse(worst, drop_between(runner.run(samples_[i]), wanted_[i]));
  }
  return worst;
}

}  // namespace planwright::apps
