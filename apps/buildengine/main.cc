// buildengine: an ONNX model in, an engine tuned for this machine out.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "apps/buildengine/accuracy.h"
#include "apps/buildengine/explain.h"
#include "apps/buildengine/int8.h"
#include "apps/buildengine/layer_info.h"
#include "apps/buildengine/layer_pins.h"
#include "apps/buildengine/options.h"
#include "apps/buildengine/profiles.h"
#include "apps/buildengine/progress.h"
#include "apps/buildengine/sensitivity.h"
#include "apps/common/console.h"
#include "apps/common/files.h"
#include "apps/common/inference.h"
#include "apps/common/interrupt.h"
#include "apps/common/log.h"
#include "apps/common/plugins.h"
#include "apps/common/report.h"
#include "builder/build.h"
#include "builder/onnx/import.h"
#include "builder/passes/quantisable_layers.h"
#include "planfmt/lifetimes.h"
#include "planfmt/limits.h"
#include "planfmt/write.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;
namespace {

constexpr double kMib = 1024.0 * 1024.0;

// The model, the engine, the timing cache and the layers are files of their own, and the last three can be written.
void check_paths(std::vector<NamedFile> read, const EngineOptions& options) {
  for (const std::string& path : options.plugins) read.push_back({"--plugins", path});
  if (options.int8) {
    read.push_back({"--calibData", options.int8->calib_data});
    read.push_back({"--evalData", options.int8->eval_data});
    read.push_back({"--calib", options.int8->calib});
  }
  check_files(read, {{"--saveEngine", options.save_engine},
                     {"--timingCacheFile", options.search.timing_cache_path},
                     {"--exportLayerInfo", options.export_layer_info}});
  // Unlike a report, an engine cannot go to a device or pipe.
  if (!options.save_engine.empty()) throw_if_error(planfmt::check_writable(options.save_engine), "--saveEngine: ");
}

// The same for files that the model turns out to read.
void check_data_paths(const builder::OnnxModel& model, const EngineOptions& options) {
  std::vector<NamedFile> read;
  for (const std::string& path : model.data_files()) read.push_back({"the model's external data", path});
  check_paths(std::move(read), options);
}

// --check: prints the verdict; true when the model is supported.
bool check_model(const builder::OnnxModel& model, const EngineOptions& options) {
  std::vector<std::string> notes;
  const std::vector<builder::Profile> profiles =
      options.has_shapes ? resolve_profiles(model.inputs(), builder::shape_inputs(model), options.profiles, &notes)
                         : std::vector{widest_profile(model.inputs())};
  const std::vector<builder::Unsupported> list = builder::find_unsupported(model, profiles);
  for (const builder::Unsupported& one : list) {
    if (options.quiet) break;
    fmt::print("not supported: node '{}', {} (opset {}): {}\n", one.node, one.op, one.opset, one.reason);
  }
  if (!list.empty()) {
    log_line('E', fmt::format("{} node{} not supported", list.size(), list.size() == 1 ? " is" : "s are"));
    return false;
  }
  builder::import_model(model, profiles);  // throws where inference contradicts the model
  if (!options.quiet) fmt::print("The model is supported\n");
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
  if (!built.plan.note.empty()) fmt::print("Precision: {}\n", built.plan.note);
  fmt::print("Tactics timed: {}   Timing cache hits: {}\n", built.search.timed, built.search.cache_hits);
  if (std::isfinite(options.search.budget_seconds)) {
    fmt::print("Search budget: {:g} s   Layers timed: {} ({} cut short)   Left to the best guess: {}\n",
               options.search.budget_seconds, built.search.layers_timed, built.search.layers_cut_short,
               built.search.layers_guessed);
  }
  for (size_t i = 0; i < built.programs.size(); ++i) {
    const builder::ProgramStats& stats = built.programs[i];
    std::map<std::string, int> precisions;
    for (const planfmt::StepModel* step : sequence_of(built.plan.programs[i]).steps) {
      if (step->outputs.empty() || step->outputs[0] < 0) continue;
      ++precisions[precision_of(built.plan, built.plan.programs[i], *step)];
    }
    std::string counts;
    for (const auto& [precision, count] : precisions)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, precision);
    fmt::print("Profile {}: {} ONNX node{} in {} layer{} ({})   Arena: {:.2f} MiB (lower bound {:.2f} MiB)\n", i,
               built.onnx_nodes, built.onnx_nodes == 1 ? "" : "s", stats.steps, stats.steps == 1 ? "" : "s", counts,
               static_cast<double>(stats.arena_bytes) / kMib, static_cast<double>(stats.arena_lower_bound) / kMib);
    if (!stats.on_reference.empty()) {
      fmt::print("  On reference kernels: {} of {} layers (first: {})\n", stats.on_reference.size(), stats.steps,
                 stats.on_reference.front());
    }
  }
}

void measure_engine(const EngineOptions& options) {
  const pw::Engine engine(options.save_engine);
  const RunShapes shapes = complete_shapes(engine, {});
  Tensors inputs = random_inputs(engine, shapes);
  InferenceOptions inference;
  inference.profile = shapes.profile;
  print_report(engine, measure(engine, inference, inputs), ReportOptions{});
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

// Of all inputs and outputs at their largest.
uint64_t binding_bytes(const planfmt::ProgramModel& program) {
  uint64_t bytes = 0;
  for (const planfmt::StorageModel& storage : program.storages) {
    if (storage.kind == planfmt::StorageKind::kBinding) bytes += storage.size;
  }
  return bytes;
}

// What the user should know of the result, beyond its report.
void warn_of_result(const builder::BuildResult& built, Progress& progress) {
  for (const std::string& text : built.search.excluded) progress.warn("tactic excluded: " + text);
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < built.programs.size(); ++i) {
    const builder::ProgramStats& stats = built.programs[i];
    const std::string profile = built.programs.size() > 1 ? fmt::format("profile {}: ", i) : "";
    if (!stats.on_reference.empty()) {
      progress.warn(fmt::format("{}{} of {} layers run on reference kernels (first: {}): slow", profile,
                                stats.on_reference.size(), stats.steps, stats.on_reference.front()));
    }
    const double needed = static_cast<double>(stats.arena_bytes + binding_bytes(built.plan.programs[i]));
    if (needed > memory) {
      progress.warn(
          fmt::format("{}a context's arena and bindings may take {:.0f} MiB, and this machine has {:.0f}: use "
                      "smaller max shapes",
                      profile, needed / kMib, memory / kMib));
    }
  }
}

// The loader's verdict on the finished engine, before it gets its name.
Status try_to_open(const std::string& path, bool has_plugins) {
  pw_engine* engine = nullptr;
  const auto code = static_cast<StatusCode>(pw_engine_open(path.c_str(), nullptr, &engine));
  pw_engine_close(engine);
  if (code == StatusCode::kOk) return kOkStatus;
  const std::string words = pw_last_error();
  const char* whose = "a fault of Planwright itself, please report it: ";
  // A plugin that answers one question in two ways, or asks for more memory at smaller shapes, comes to light here.
  if (has_plugins) whose = "a fault of a plugin (plugin.h says what its functions must keep to) or of Planwright: ";
  if (code == StatusCode::kIo || code == StatusCode::kResource) whose = "";
  return error(code, "%sthe engine built cannot be opened: %s", whose, words.c_str());
}

// The pins of the model's layers; their steps go into `build`. What cannot hold is known from builds that time nothing.
// `reported`: the layers of which it is said already that their pins do not.
LayerPins resolve_pins(const EngineOptions& options, const ir::Graph& graph, builder::BuildOptions& build,
                       Progress& progress, std::set<std::string>* reported) {
  if (options.pins.empty()) {
    if (options.pins.constraint == PinConstraint::kNone) {
      progress.warn("--precisionConstraints=none: --layerPrecisions and --layerOutputTypes are ignored");
    }
    return {};
  }
  const LayerPins pins(options.pins, node_names(graph));
  builder::BuildOptions untimed;
  untimed.profiles = build.profiles;
  untimed.search = build.search;
  untimed.search.optimization_level = 0;
  untimed.search.explain = false;
  untimed.search.warn = nullptr;
  untimed.search.bf16 = false;
  untimed.weight_only = build.weight_only;
  const ir::Graph prepared = builder::prepare(graph.copy(), untimed);
  const planfmt::PlanModel floats = builder::build_prepared(prepared.copy(), untimed).plan;
  build.pins = untimed.pins = pins.steps(floats);
  std::vector<ir::QuantisableLayer> layers;
  std::set<std::string> names;
  for (const builder::QuantisableNode& node : builder::quantisable_nodes(prepared)) {
    if (!options.int8) break;
    layers.push_back(node.layer);
    names.insert(node.layer.name);
  }
  untimed.search.bf16 = build.search.bf16;
  std::vector<UnheldPin> unheld = pins.quantised(floats, layers).unheld;
  for (UnheldPin& pin : pins.unheld(builder::build_prepared(prepared.copy(), untimed).plan, names)) {
    unheld.push_back(std::move(pin));
  }
  for (const UnheldPin& pin : unheld) reported->insert(pin.layer);
  report_unheld(unheld, pins.obeys(), [&](const std::string& text) { progress.warn(text); });
  return pins;
}

int run_main(int argc, char** argv) {
  const std::optional<EngineOptions> parsed = parse_build_options(argc, argv);
  if (!parsed) return kExitPassed;
  const EngineOptions& options = *parsed;
  Progress progress(options.quiet, options.verbose);
  check_paths({{"--onnx", options.onnx}}, options);
  load_plugins(options.plugins);
  const auto start = std::chrono::steady_clock::now();
  const builder::OnnxModel model = builder::OnnxModel::load(options.onnx);
  for (const std::string& text : model.warnings()) progress.warn(text);
  check_data_paths(model, options);
  if (options.check) return check_model(model, options) ? kExitPassed : kExitFailed;

  std::vector<std::string> notes;
  builder::BuildOptions build_options;
  build_options.profiles = resolve_profiles(model.inputs(), builder::shape_inputs(model), options.profiles, &notes);
  for (const std::string& note : notes) progress.say(note);
  build_options.search = options.search;
  build_options.weight_only = options.weight_only;
  build_options.search.cancelled = interrupted;
  build_options.search.warn = [&](const std::string& text) { progress.warn(text); };
  if (options.search.explain) {
    build_options.begin_search = [&](const std::vector<std::string>& layers) {
      check_explained(options.explain, layers);
    };
  }
  if (options.search.optimization_level > 0) {
    build_options.search.progress = [&](size_t done, size_t total, const std::string& layer) {
      progress.tuning(done, total, layer);
    };
  }
  build_options.observe_pass = [&](const std::string& pass, const ir::Graph& graph) {
    stop_if_interrupted();
    progress.detail(fmt::format("{}: {} nodes", pass, graph.order().size()));
  };
  progress.say(fmt::format("building for {} thread{} with {}", options.search.threads,
                           options.search.threads == 1 ? "" : "s", planwright::name_of(options.search.isa)));
  ir::Graph graph = builder::import_model(model, build_options.profiles);
  for (const std::string& text : graph.warnings) progress.warn(text);
  std::set<std::string> reported_pins;
  const LayerPins pins = resolve_pins(options, graph, build_options, progress, &reported_pins);
  Int8Result made;
  if (options.int8) {
    made = build_int8(
        {.model = model,
         .options = build_options,
         .int8 = *options.int8,
         .pins = pins,
         .say = [&](const std::string& text) { progress.say(text); },
         .detail = [&](const std::string& text) { progress.detail(text); },
         .warn = [&](const std::string& text) { progress.warn(text); },
         .progress = [&](const char* what, uint64_t done, uint64_t total) { progress.step(what, done, total); }});
    for (const std::string& line : sensitivity_table(made.layers)) progress.detail(line);
    if (made.speed_up > 0) {
      progress.say(fmt::format("{}; {:.2f} times the speed of floats", made.built.plan.note, made.speed_up));
    }
  } else {
    made.built = builder::build(std::move(graph), build_options);
  }
  builder::BuildResult built = std::move(made.built);
  const AccuracyRequest accuracy{.import = [&] { return builder::import_model(model, build_options.profiles); },
                                 .options = build_options,
                                 .max_drop = options.max_drop,
                                 .obeys_pins = pins.obeys(),
                                 .say = [&](const std::string& text) { progress.say(text); },
                                 .warn = [&](const std::string& text) { progress.warn(text); }};
  if (built.plan.note.empty() && multiplies_in_bf16(built.plan)) {
    if (options.max_drop < 1) built = keep_accuracy(accuracy, std::move(built));
    if (built.plan.note.empty() && multiplies_in_bf16(built.plan)) built.plan.note = "bf16: not measured";
  }
  // The names of a model's outputs may have any length.
  built.plan.note.resize(std::min<size_t>(built.plan.note.size(), planfmt::kMaxNoteBytes));
  if (options.weight_only) report_rounding(accuracy, built);
  std::vector<UnheldPin> unheld = pins.unheld(built.plan);
  std::erase_if(unheld, [&](const UnheldPin& pin) { return reported_pins.contains(pin.layer); });
  report_unheld(unheld, pins.obeys(), [&](const std::string& text) { progress.warn(text); });
  warn_of_result(built, progress);
  check_arena(built, options);
  stop_if_interrupted();
  if (!options.dry_run) {
    const auto check = [&](const std::string& path) { return try_to_open(path, !options.plugins.empty()); };
    throw_if_error(planfmt::write_engine(built.plan, options.save_engine, check), "--saveEngine: ");
  }
  if (!options.export_layer_info.empty()) export_layer_info(built.plan, made.layers, pins, options.export_layer_info);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.search.explain && !options.quiet)
    fmt::print("{}", explanation_text(built.search.explanations, options.explain));
  if (!options.quiet) print_build_report(built, options, seconds);
  // --quiet would not show what is measured.
  if (!options.skip_inference && !options.dry_run && !options.quiet) measure_engine(options);
  return kExitPassed;
}

}  // namespace
}  // namespace planwright::apps

int main(int argc, char** argv) {
  return planwright::apps::run_program("buildengine", argc, argv,
                                       [&] { return planwright::apps::run_main(argc, argv); });
}
