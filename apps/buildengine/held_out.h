// Samples that a build measures its precision with.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_
#define PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_

#include <string>
#include <vector>

#include "apps/buildengine/drop.h"
#include "planfmt/plan_model.h"

namespace planwright::apps {

class HeldOut {
 public:
  // What `exact` makes of the samples is what is wanted; where they have an array `labels`, that its first output, a
  // row of scores for each label, is as often largest where the label says. Throws Error(kInvalid) where it is no such.
  HeldOut(std::vector<Tensors> samples, const planfmt::PlanModel& exact, const std::string& labels = "");
  size_t count() const { return samples_.size(); }
  // Of the sample and output that are furthest off; with labels the share of them that `plan` misses more than `exact`,
  // below 0 where it misses fewer.
  Drop drop_of(const planfmt::PlanModel& plan) const;
  // "on 8 held-out samples output 'y' is off by 0.001 at most (L2 0.045)"
  std::string words_for(const Drop& drop) const;

 private:
  double accuracy_of(const planfmt::PlanModel& plan) const;

  std::vector<Tensors> samples_, wanted_;
  std::vector<ir::Tensor> labels_;  // of each sample, or none
  std::string scores_;              // the output that they are of
  double accuracy_ = 0;             // of `exact`
};

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_HELD_OUT_H_
