#include "apps/runengine/exports.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/common/compare.h"
#include "apps/common/files.h"
#include "apps/common/shape_spec.h"
#include "apps/common/statistics.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

void write_json(const nlohmann::json& json, const std::string& path) {
  write_file(path, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

std::vector<double> values_of(const ir::Tensor& tensor) {
  std::vector<double> values(tensor.data.size() / size_of(tensor.dtype));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element_value(tensor, i);
  return values;
}

}  // namespace

void export_times(const Measurement& measurement, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Query& query : measurement.queries) {
    list.push_back({{"startMs", query.start_ms},
                    {"endMs", query.end_ms},
                    {"inMs", query.in_ms},
                    {"computeMs", query.compute_ms},
                    {"outMs", query.out_ms},
                    {"latencyMs", query.latency_ms()}});
  }
  write_json(list, path);
}

void export_profile(const Measurement& measurement, const std::string& path) {
  double total = 0;
  for (const LayerTime& layer : measurement.layers) total += std::accumulate(layer.ms.begin(), layer.ms.end(), 0.0);
  nlohmann::json list = nlohmann::json::array({{{"count", measurement.queries.size()}}});
  for (const LayerTime& layer : measurement.layers) {
    if (layer.ms.empty()) continue;
    const double sum = std::accumulate(layer.ms.begin(), layer.ms.end(), 0.0);
    const Summary summary = summarise(layer.ms, {});
    list.push_back({{"name", layer.name},
                    {"timeMs", sum},
                    {"averageMs", summary.mean},
                    {"medianMs", summary.median},
                    {"percentage", 100 * sum / total}});
  }
  write_json(list, path);
}

void export_output(const Tensors& outputs, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, tensor] : outputs) {
    nlohmann::json numbers = nlohmann::json::array();
    for (const double value : values_of(tensor)) {
      const bool is_whole = !is_float(tensor.dtype) && std::abs(value) < 0x1p63;
      numbers.push_back(is_whole ? nlohmann::json(static_cast<int64_t>(value)) : nlohmann::json(value));
    }
    list.push_back({{"name", name}, {"dimensions", format_dims(tensor.dims)}, {"values", std::move(numbers)}});
  }
  write_json(list, path);
}

void print_output(const Tensors& outputs) {
  for (const auto& [name, tensor] : outputs) {
    fmt::print("{}: {} {}\n", name, planwright::name_of(tensor.dtype), format_dims(tensor.dims));
    const std::vector<double> values = values_of(tensor);
    is_float(tensor.dtype) ? fmt::print("{:g}\n", fmt::join(values, " "))
                           : fmt::print("{:.0f}\n", fmt::join(values, " "));
  }
}

void print_engine(const pw::Engine& engine, bool header, bool layers) {
  const std::vector<ProfileRanges> profiles = profiles_of(engine);
  if (header) {
    const pw_engine_info info = engine.info();
    fmt::print("Engine by {}, tuned on {} for {} thread{}\nFile: {} bytes, weights: {} bytes\n", info.producer,
               info.device, info.tuned_threads, info.tuned_threads == 1 ? "" : "s", info.file_bytes, info.weight_bytes);
    for (const pw_binding& binding : engine.bindings()) {
      fmt::print("{} '{}': {} {}\n", binding.is_input ? "Input" : "Output", binding.name,
                 planwright::name_of(static_cast<DType>(binding.dtype)),
                 format_dims({binding.dims, binding.dims + binding.rank}));
      for (size_t i = 0; binding.is_input && i < profiles.size(); ++i) {
        const InputRange& range = profiles[i].at(binding.name);
        fmt::print("  profile {}: min {} opt {} max {}\n", i, format_dims(range.min), format_dims(range.opt),
                   format_dims(range.max));
        if (range.value_opt.empty()) continue;
        fmt::print("    values: min {} opt {} max {}\n", format_values(range.value_min), format_values(range.value_opt),
                   format_values(range.value_max));
      }
    }
  }
  for (size_t profile = 0; layers && profile < profiles.size(); ++profile) {
    fmt::print(
        "Layers of profile {}, with the time that the builder measured (-: not timed):\n"
        "  {:>4} {:14} {:32} {:>10}  {}\n",
        profile, "Step", "Operator", "Tactic", "Time(us)", "Layer");
    for (size_t step = 0; step < pw_engine_step_count(engine.get(), profile); ++step) {
      pw_step_info info;
      pw::require(pw_engine_step(engine.get(), profile, step, &info));
      const std::string time = info.tuned_us > 0 ? fmt::format("{:.2f}", info.tuned_us) : "-";
      fmt::print("  {:4} {:14} {:32} {:>10}  {}\n", step, info.op, info.tactic, time, info.name);
    }
  }
}

}  // namespace planwright::apps
