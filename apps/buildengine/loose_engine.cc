#include "apps/buildengine/loose_engine.h"

#include <algorithm>

#include "planfmt/write.h"
#include "schemas/types/error.h"

namespace planwright::apps {

LooseEngine::LooseEngine(const planfmt::PlanModel& plan) {
  throw_if_error(planfmt::engine_bytes(plan, &bytes_), "accuracy: ");
  pw_open_options options{};
  options.struct_size = sizeof options;
  options.source = PW_SOURCE_READ;  // the vector is not aligned as mapped weights must be
  options.trusted = 1;
  engine_ = std::make_unique<pw::Engine>(bytes_.data(), bytes_.size(), &options);
  bytes_ = {};
}

const Tensors& SampleRunner::run(const Tensors& inputs) {
  const auto is_alike = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.dtype == b.second.dtype && a.second.dims == b.second.dims;
  };
  if (context_ && std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end(), is_alike)) {
    for (const auto& [name, tensor] : inputs) {
      std::copy(tensor.data.begin(), tensor.data.end(), inputs_.at(name).data.begin());
    }
  } else {
    context_.reset();
    inputs_ = inputs;
    InferenceOptions options;
    options.profile = complete_shapes(engine_, shapes_of(engine_, inputs_)).profile;
    context_.emplace(engine_, context_options(options), inputs_);
  }
  context_->run();
  return context_->outputs();
}

}  // namespace planwright::apps
