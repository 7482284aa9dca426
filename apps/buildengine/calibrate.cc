#include "apps/buildengine/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include "apps/common/interrupt.h"
#include "builder/passes/quantisable_layers.h"
#include "calibrator/channel_factors.h"
#include "planfmt/checksum.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

using calibrator::ChannelRanges;
using calibrator::Histogram;
using calibrator::Range;

uint64_t hash_of(const Tensors& sample) {
  std::vector<uint64_t> parts;
  for (const auto& [name, tensor] : sample) {
    parts.insert(parts.end(), tensor.dims.begin(), tensor.dims.end());
    parts.push_back(planfmt::checksum_of(tensor.data.data(), tensor.data.size()));
  }
  return planfmt::checksum_of(reinterpret_cast<const std::byte*>(parts.data()), parts.size() * sizeof parts[0]);
}

std::span<const float> floats_of(const ir::Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)};
}

void widen(builder::ShapeRange& range, const std::vector<int64_t>& dims) {
  if (range.max.empty()) range.min = range.max = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    range.min[i] = std::min(range.min[i], dims[i]);
    range.max[i] = std::max(range.max[i], dims[i]);
  }
  range.opt = range.max;
}

// An activation that is calibrated.
struct Activation {
  const ir::QuantisableLayer& layer;  // one that reads it
  std::string output;
  Range range = {};
  std::optional<ChannelRanges> channels = std::nullopt;  // where each may have a scale of its own
  std::vector<float> factors = {};
  std::optional<Histogram> histogram = std::nullopt;
  std::vector<float> divided = {};

  explicit Activation(const ir::QuantisableLayer& reader) : layer(reader), output(builder::activation_output(reader)) {
    if (!reader.channel_weights.empty()) channels.emplace(reader.channels);
  }

  // Of a sample's values, what lies behind the axis of channels.
  int64_t together(const ir::Tensor& values) const {
    return std::accumulate(values.dims.begin() + layer.channel_axis + 1, values.dims.end(), int64_t{1},
                           std::multiplies<>());
  }

  void add_to_range(const ir::Tensor& values) {
    range.add(floats_of(values));
    if (channels) channels->add(floats_of(values), together(values));
  }
  void begin_histogram() {
    if (channels) factors = channels->factors(layer.channel_weights);
    if (!factors.empty()) range = channels->divided(range, factors);
    histogram.emplace(range.limit());
  }
  void add_to_histogram(const ir::Tensor& values) {
    if (factors.empty()) return histogram->add(floats_of(values), layer.activation);
    calibrator::divide_channels(floats_of(values), together(values), factors, &divided);
    histogram->add(divided, layer.activation);
  }
};

// Calls `visit` for each of `list`, from two threads.
template <typename T, typename Visit>
void for_each_in_threads(std::vector<T>& list, const Visit& visit) {
  std::atomic<size_t> next = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i = next++; i < list.size(); i = next++) visit(list[i]);
  };
  std::thread other([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    work();
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

std::vector<calibrator::InputSpec> sample_inputs(const builder::OnnxModel& model) {
  std::vector<calibrator::InputSpec> inputs;
  for (const builder::TensorDecl& input : model.inputs()) {
    inputs.push_back({input.binding, input.dtype, input.dims});  // -1 is kAnyLength
  }
  return inputs;
}

SampleSurvey survey_samples(const builder::OnnxModel& model, calibrator::SampleSource& samples, uint64_t most_held) {
  constexpr uint64_t kShare = 4;
  SampleSurvey survey;
  for (const builder::TensorDecl& input : model.inputs()) survey.shapes.inputs.push_back({input.binding, {}, {}, {}});
  most_held = std::min(most_held, samples.count() / kShare);
  std::map<uint64_t, Tensors> held;
  samples.rewind();
  for (Tensors sample; samples.next(&sample);) {
    stop_if_interrupted();
    ++survey.count;
    for (builder::ShapeRange& range : survey.shapes.inputs) widen(range, sample.at(range.input).dims);
    held.try_emplace(hash_of(sample), std::move(sample));
    if (held.size() > most_held) held.erase(std::prev(held.end()));
  }
  for (auto& [hash, sample] : held) {
    survey.held_hashes.insert(hash);
    survey.held_out.push_back(std::move(sample));
  }
  return survey;
}

void calibrate(const planfmt::PlanModel& plan, const std::vector<ir::QuantisableLayer>& layers,
               calibrator::SampleSource& samples, const SampleSurvey& survey, calibrator::CalibrationCache& cache,
               const std::function<void(uint64_t done, uint64_t total)>& progress,
               const std::function<void(const std::string&)>& warn) {
  std::map<uint64_t, Activation> by_key;
  for (const ir::QuantisableLayer& layer : layers) by_key.try_emplace(layer.key, layer);
  std::vector<std::pair<const uint64_t, Activation>*> activations;
  for (auto& entry : by_key) activations.push_back(&entry);

  const LooseEngine engine(plan);
  SampleRunner runner(*engine);
  const uint64_t total = 2 * (survey.count - survey.held_hashes.size());
  uint64_t done = 0;
  const auto run_all = [&](const auto& take) {
    samples.rewind();
    for (Tensors sample; samples.next(&sample);) {
      stop_if_interrupted();
      if (survey.held_hashes.contains(hash_of(sample))) continue;
      const Tensors& outputs = runner.run(sample);
      for_each_in_threads(activations, [&](std::pair<const uint64_t, Activation>* entry) {
        take(entry->second, outputs.at(entry->second.output));
      });
      progress(++done, std::max(done, total));
    }
  };
  run_all([](Activation& activation, const ir::Tensor& values) { activation.add_to_range(values); });
  for (auto* entry : activations) {
    const Activation& activation = entry->second;
    if (const auto fault = calibrator::find_fault(activation.layer.activation, activation.range)) warn(*fault);
  }
  for (auto* entry : activations) entry->second.begin_histogram();
  run_all([](Activation& activation, const ir::Tensor& values) { activation.add_to_histogram(values); });
  for (auto& [key, activation] : by_key) {
    cache.put(key, {activation.layer.activation,
                    activation.range,
                    std::move(activation.histogram),
                    {},
                    std::move(activation.factors)});
  }
}

}  // namespace planwright::apps
