#include "apps/buildengine/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/buildengine/loose_engine.h"
#include "apps/common/compare.h"
#include "apps/common/interrupt.h"
#include "apps/common/shape_spec.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

size_t count_of(const ir::Tensor& tensor) { return tensor.data.size() / size_of(tensor.dtype); }

// How many rows of `scores` are largest where their label says; of equal scores the first.
size_t right_ones(const std::string& output, const ir::Tensor& scores, const ir::Tensor& labels) {
  const size_t rows = count_of(labels);
  if (scores.dims.size() != 2 || static_cast<size_t>(scores.dims[0]) != rows || scores.dims[1] == 0) {
    throw Error(
        StatusCode::kInvalid,
        fmt::format("--evalData: a sample has {} label{} and output '{}' is {}; labels need a row of scores each: "
                    "leave them out to compare outputs with fp32",
                    rows, rows == 1 ? "" : "s", output, format_dims(scores.dims)));
  }
  const auto classes = static_cast<size_t>(scores.dims[1]);
  size_t right = 0;
  for (size_t row = 0; row < rows; ++row) {
    size_t best = 0;
    for (size_t i = 1; i < classes; ++i) {
      if (element_value(scores, row * classes + i) > element_value(scores, row * classes + best)) best = i;
    }
    right += static_cast<double>(best) == element_value(labels, row);
  }
  return right;
}

}  // namespace

HeldOut::HeldOut(std::vector<Tensors> samples, const planfmt::PlanModel& exact, const std::string& labels)
    : samples_(std::move(samples)) {
  if (!labels.empty()) {
    for (Tensors& sample : samples_) {
      labels_.push_back(std::move(sample.at(labels)));
      sample.erase(labels);
    }
    const auto output = std::find_if(exact.bindings.begin(), exact.bindings.end(),
                                     [](const planfmt::BindingModel& binding) { return !binding.is_input; });
    scores_ = output->name;
    accuracy_ = accuracy_of(exact);
    return;
  }
  const LooseEngine engine(exact);
  SampleRunner runner(*engine);
  for (const Tensors& sample : samples_) {
    stop_if_interrupted();
    wanted_.push_back(runner.run(sample));
  }
}

double HeldOut::accuracy_of(const planfmt::PlanModel& plan) const {
  const LooseEngine engine(plan);
  SampleRunner runner(*engine);
  size_t right = 0, all = 0;
  for (size_t i = 0; i < samples_.size(); ++i) {
    stop_if_interrupted();
    right += right_ones(scores_, runner.run(samples_[i]).at(scores_), labels_[i]);
    all += count_of(labels_[i]);
  }
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

Drop HeldOut::drop_of(const planfmt::PlanModel& plan) const {
  if (!labels_.empty()) return {accuracy_ - accuracy_of(plan), scores_};
  const LooseEngine engine(plan);
  SampleRunner runner(*engine);
  Drop worst;
  for (size_t i = 0; i < samples_.size(); ++i) {
    stop_if_interrupted();
    worst = worse(worst, drop_between(runner.run(samples_[i]), wanted_[i]));
  }
  return worst;
}

std::string HeldOut::words_for(const Drop& drop) const {
  std::string text = fmt::format("on {} held-out samples ", count());
  if (!labels_.empty()) {
    return text + fmt::format("top-1 of output '{}' is {:.2f} % (fp32 {:.2f} %)", scores_,
                              (accuracy_ - drop.value) * 100, accuracy_ * 100);
  }
  return text + fmt::format("output '{}' is off by {:.2g} at most (L2 {:.2g})", drop.output, drop.value,
                            std::sqrt(2 * drop.value));
}

}  // namespace planwright::apps
