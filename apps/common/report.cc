#include "apps/common/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "apps/common/log.h"
#include "apps/common/statistics.h"

namespace planwright::apps {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

template <typename Value>
std::vector<double> collect(const std::vector<Query>& queries, Value value) {
  std::vector<double> list;
  list.reserve(queries.size());
  for (const Query& query : queries) list.push_back(value(query));
  return list;
}

void print_summary(const char* title, const Summary& summary) {
  fmt::print("{}: min = {:.6g} ms, max = {:.6g} ms, mean = {:.6g} ms, median = {:.6g} ms", title, summary.min,
             summary.max, summary.mean, summary.median);
  for (const auto& [percent, value] : summary.percentiles)
    fmt::print(", percentile({:g}%) = {:.6g} ms", percent, value);
  fmt::print("\n");
}

void print_trace(const std::vector<Query>& queries, int avg_runs) {
  fmt::print("\n=== Trace details ===\nTrace averages of {} runs:\n", avg_runs);
  const size_t group = static_cast<size_t>(avg_runs);
  for (size_t start = 0; start + group <= queries.size(); start += group) {
    double compute = 0, host = 0;
    for (size_t i = start; i < start + group; ++i) {
      compute += queries[i].compute_ms;
      host += queries[i].latency_ms();
    }
    fmt::print("Average on {} runs - Compute latency: {:.6g} ms - Host latency: {:.6g} ms\n", avg_runs,
               compute / avg_runs, host / avg_runs);
  }
}

}  // namespace

void print_report(const pw::Engine& engine, const Measurement& measurement, const ReportOptions& options) {
  const uint64_t peak = peak_resident_bytes();
  const std::vector<Query>& queries = measurement.queries;
  if (options.trace) print_trace(queries, options.avg_runs);
  const Summary latency =
      summarise(collect(queries, [](const Query& q) { return q.latency_ms(); }), options.percentiles);
  fmt::print("\n=== Performance summary ===\nThroughput: {:.6g} qps\n",
             static_cast<double>(queries.size()) / measurement.walltime_s);
  print_summary("Latency", latency);
  print_summary("Compute Time",
                summarise(collect(queries, [](const Query& q) { return q.compute_ms; }), options.percentiles));
  print_summary("Input copy", summarise(collect(queries, [](const Query& q) { return q.in_ms; }), options.percentiles));
  print_summary("Output copy",
                summarise(collect(queries, [](const Query& q) { return q.out_ms; }), options.percentiles));
  fmt::print("Total Host Walltime: {:.6g} s\n", measurement.walltime_s);

  const pw_engine_info info = engine.info();
  fmt::print(
      "\n=== Memory summary ===\nWeights: {:.2f} MiB mapped (shared)   Arena: {:.2f} MiB per context   Bindings: "
      "{:.2f} MiB   "
      "Peak resident: {:.2f} MiB   Engine open: {:.2f} ms\n",
      static_cast<double>(info.weight_bytes) / kMib, static_cast<double>(measurement.arena_bytes) / kMib,
      static_cast<double>(measurement.binding_bytes) / kMib, static_cast<double>(peak) / kMib, info.open_ms);
  if (latency.coefficient_of_variation > 0.025) {
    log_warning(fmt::format("latencies vary by {:.1f} % (coefficient of variation): the machine is not quiet",
                            latency.coefficient_of_variation * 100));
  }
  if (measurement.contended) log_warning("other processes took the cores during the measurement");
  if (info.same_device == 0) {
    log_warning(
        fmt::format("the engine was tuned on another device ({}): rebuild it here for the best speed", info.device));
  }
}

void print_layer_times(const Measurement& measurement) {
  double total = 0;
  for (const LayerTime& layer : measurement.layers) total += std::accumulate(layer.ms.begin(), layer.ms.end(), 0.0);
  fmt::print("\n=== Profile ({} runs) ===\n{:>12} {:>12} {:>12} {:>8}  Layer\n", measurement.queries.size(), "Time(ms)",
             "Avg.(ms)", "Median(ms)", "Time(%)");
  for (const LayerTime& layer : measurement.layers) {
    if (layer.ms.empty()) continue;
    const double sum = std::accumulate(layer.ms.begin(), layer.ms.end(), 0.0);
    const Summary summary = summarise(layer.ms, {});
    fmt::print("{:12.4f} {:12.4f} {:12.4f} {:8.1f}  {}\n", sum, summary.mean, summary.median, 100 * sum / total,
               layer.name);
  }
  fmt::print("{:12.4f} {:12.4f} {:>12} {:8.1f}  Total\n", total,
             total / static_cast<double>(std::max<size_t>(measurement.queries.size(), 1)), "", 100.0);
}

uint64_t peak_resident_bytes() {
  // Not getrusage's ru_maxrss: that starts from what the process that started this one had resident.
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kib = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kib) break;
  }
  return kib * 1024;
}

}  // namespace planwright::apps
