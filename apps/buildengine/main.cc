// buildengine: an ONNX model in, an engine tuned for this machine out.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "apps/buildengine/layer_info.h"
#include "apps/buildengine/options.h"
#include "apps/buildengine/profiles.h"
#include "apps/buildengine/progress.h"
#include "apps/common/console.h"
#include "apps/common/inference.h"
#include "apps/common/interrupt.h"
#include "apps/common/report.h"
#include "builder/build.h"
#include "builder/onnx/import.h"
#include "planfmt/write.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;
namespace {

constexpr double kMib = 1024.0 * 1024.0;

// Refuses a place where the engine cannot go, before any work.
void check_target(const EngineOptions& options) {
  if (options.save_engine.empty()) return;
  std::error_code ignored;
  if (fs::equivalent(options.onnx, options.save_engine, ignored)) {
    throw UsageError(fmt::format("--saveEngine={} is the model itself", options.save_engine));
  }
  throw_if_error(planfmt::check_writable(options.save_engine), "--saveEngine: ");
}

// --check: prints the verdict; true when the model is supported.
bool check_model(const builder::OnnxModel& model, const EngineOptions& options) {
  std::vector<std::string> notes;
  const std::vector<builder::Profile> profiles = options.has_shapes
                                                     ? resolve_profiles(model.inputs(), options.profiles, &notes)
                                                     : std::vector{widest_profile(model.inputs())};
  const std::vector<builder::Unsupported> list = builder::find_unsupported(model, profiles);
  for (const builder::Unsupported& one : list) {
    fmt::print("not supported: node '{}', {} (opset {}): {}\n", one.node, one.op, one.opset, one.reason);
  }
  if (!list.empty()) {
    fmt::print("{} nodes are not supported\n", list.size());
    return false;
  }
  builder::import_model(model, profiles);  // throws where inference contradicts the model
  fmt::print("The model is supported\n");
  return true;
}

void print_build_report(const builder::BuildResult& built, const EngineOptions& options, double seconds) {
  fmt::print("Engine built in {:.2f} sec.\n", seconds);
  if (!options.dry_run) {
    fmt::print("Created engine with size: {:.2f} MiB\n",
               static_cast<double>(fs::file_size(options.save_engine)) / kMib);
  }
  fmt::print("\n=== Engine ===\nDevice: {}   Threads: {}\nWeights: {:.2f} MiB\n", built.plan.device, built.plan.threads,
             static_cast<double>(built.plan.weights.total_bytes()) / kMib);
  fmt::print("Tactics timed: {}   Timing cache hits: {}\n", built.search.timed, built.search.cache_hits);
  for (size_t i = 0; i < built.programs.size(); ++i) {
    const builder::ProgramStats& stats = built.programs[i];
    std::map<std::string, int> precisions;
    for (const planfmt::StepModel& step : built.plan.programs[i].steps) {
      if (step.outputs.empty() || step.outputs[0] < 0) continue;
      ++precisions[name_of(built.plan.programs[i].tensors[static_cast<size_t>(step.outputs[0])].dtype)];
    }
    std::string counts;
    for (const auto& [precision, count] : precisions)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, precision);
    fmt::print("Profile {}: {} ONNX nodes in {} layers ({})   Arena: {:.2f} MiB (lower bound {:.2f} MiB)\n", i,
               built.onnx_nodes, stats.steps, counts, static_cast<double>(stats.arena_bytes) / kMib,
               static_cast<double>(stats.arena_lower_bound) / kMib);
  }
}

void measure_engine(const EngineOptions& options) {
  const pw::Engine engine(options.save_engine);
  Tensors inputs = random_inputs(engine, complete_shapes(engine, {}, -1));
  const Measurement measurement = measure(engine, InferenceOptions{}, inputs);
  if (!options.quiet) print_report(engine, measurement, inputs, ReportOptions{});
}

void check_arena(const builder::BuildResult& built, const EngineOptions& options) {
  for (const builder::ProgramStats& stats : built.programs) {
    if (stats.arena_bytes <= options.arena_limit) continue;
    throw Error(StatusCode::kResource,
                fmt::format("the arena needs {} bytes, --memPoolSize allows {}: allow more, or use "
                            "smaller max shapes",
                            stats.arena_bytes, options.arena_limit));
  }
}

int run_main(int argc, char** argv) {
  const std::optional<EngineOptions> parsed = parse_build_options(argc, argv);
  if (!parsed) return kExitPassed;
  const EngineOptions& options = *parsed;
  Progress progress(options.quiet, options.verbose);
  check_target(options);
  const auto start = std::chrono::steady_clock::now();
  const builder::OnnxModel model = builder::OnnxModel::load(options.onnx);
  if (options.check) return check_model(model, options) ? kExitPassed : kExitFailed;

  std::vector<std::string> notes;
  builder::BuildOptions build_options;
  build_options.profiles = resolve_profiles(model.inputs(), options.profiles, &notes);
  for (const std::string& note : notes) progress.say(note);
  build_options.search = options.search;
  build_options.search.cancelled = interrupted;
  build_options.search.warn = [&](const std::string& text) { progress.warn(text); };
  build_options.search.progress = [&](size_t done, size_t total, const std::string& layer) {
    progress.tuning(done, total, layer);
  };
  build_options.observe_pass = [&](const std::string& pass, const ir::Graph& graph) {
    stop_if_interrupted();
    progress.detail(fmt::format("{}: {} nodes", pass, graph.order().size()));
  };
  progress.say(
      fmt::format("building for {} threads with {}", options.search.threads, planwright::name_of(options.search.isa)));
  const builder::BuildResult built =
      builder::build(builder::import_model(model, build_options.profiles), build_options);
  for (const std::string& text : built.search.excluded) progress.warn("tactic excluded: " + text);
  check_arena(built, options);
  stop_if_interrupted();
  if (!options.dry_run) throw_if_error(planfmt::write_engine(built.plan, options.save_engine), "--saveEngine: ");
  if (!options.export_layer_info.empty()) export_layer_info(built.plan, options.export_layer_info);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.quiet) print_build_report(built, options, seconds);
  if (!options.skip_inference && !options.dry_run) measure_engine(options);
  return kExitPassed;
}

}  // namespace
}  // namespace planwright::apps

int main(int argc, char** argv) {
  return planwright::apps::run_program("buildengine", argc, argv,
                                       [&] { return planwright::apps::run_main(argc, argv); });
}
