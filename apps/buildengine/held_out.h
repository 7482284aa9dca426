// Samples that a build measures its precision with.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_
#define PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_

#include <vector>

#include "apps/buildengine/drop.h"
#include "planfmt/plan_model.h"

namespace planwright::apps {

class HeldOut {
 public:
  // What `exact` makes of the samples is what is wanted.
  HeldOut(std::vector<Tensors> samples, const planfmt::PlanModel& exact);
  size_t count() const { return samples_.size(); }
  // Of the sample and output that are furthest off.
  Drop drop_of(const planfmt::PlanModel& plan) const;

 private:
  std::vector<Tensors> samples_, wanted_;
};

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_
