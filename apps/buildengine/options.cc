#include "apps/buildengine/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <planwright/planwright.hpp>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"
#include "schemas/types/error.h"
#include "tactics/fingerprint.h"
#include "tactics/kernels/cpu.h"
#include "tactics/kernels/registry.h"

namespace planwright::apps {
namespace {

const std::vector<KnownFlag> kNotHere = {
    {"--fp16", "engines compute in fp32 and, with --bf16 and --int8, in those"},
    {"--fp8", "engines compute in fp32 and, with --bf16 and --int8, in those"},
    {"--int4", "use --weightOnly=int4; a model's own 4-bit weights are read as they are"},
    {"--noTF32", "engines compute in fp32 throughout; there is no TF32 to switch off"},
    {"--stronglyTyped", "engines keep to the model's types always"},
    {"--inputIOFormats", "inputs have the model's types, dense and in its axis order"},
    {"--outputIOFormats", "outputs have the model's types, dense and in its axis order"},
    {"--layerDeviceTypes", "engines are built for the CPU so far"},
    {"--useDLACore", "engines are built for the CPU so far"},
    {"--allowGPUFallback", "engines are built for the CPU so far"},
    {"--sparsity", "weights are stored dense so far"},
    {"--refit", "engines hold their weights so far"},
    {"--versionCompatible", "an engine runs where it was built; build one for each machine"},
    {"--hardwareCompatibilityLevel", "use --isa for an engine that older CPUs run too"},
    {"--buildOnly", "it is --skipInference"},
    {"--noBuilderCache", "a build without --timingCacheFile keeps nothing"},
    {"--staticPlugins", "use --plugins"},
    {"--dynamicPlugins", "use --plugins"},
    {"--setPluginsToSerialize", "use --plugins; engines hold no code"},
    {"--maxAuxStreams", "one stream runs a context; use --threads"},
    {"--errorOnTimingCacheMiss", "use --builderOptimizationLevel=0 for builds that time nothing"},
    {"--algorithms", "use --tacticSources and --maxTactics to limit the search"},
    {"--device", "engines are built for the CPU so far"},
    {"--stripWeights", "engines hold their weights so far"},
    {"--refitFromOnnx", "engines hold their weights so far"},
    {"--exportGraph", "--exportLayerInfo writes the layers as JSON"},
    {"--report", "--exportLayerInfo writes the layers as JSON"},
    {"--verifyReproducible", "build twice with one --timingCacheFile and compare the files"},
    {"--logFormat", "logs are text so far"},
    {"--workspace", "use --memPoolSize=workspace:N"},
    {"--timeout", "use --budget to shorten the search"},
};

// Shape flags belong to the profile that the last --profile before them names, so their order matters.
std::vector<ShapeFlags> collect_profiles(const CLI::App& app) {
  std::map<int, ShapeFlags> profiles;
  std::map<std::string, size_t> used;
  int current = 0;
  for (const CLI::Option* option : app.parse_order()) {
    const std::string flag = option->get_name();
    if (flag != "--profile" && flag != "--shapes" && flag != "--minShapes" && flag != "--optShapes" &&
        flag != "--maxShapes") {
      continue;
    }
    const std::string& value = option->results()[used[flag]++];
    if (flag == "--profile") {
      current = std::stoi(value);
      profiles[current];
      continue;
    }
    ShapeFlags& one = profiles[current];
    std::vector<ShapeSpec>& part = flag == "--shapes"      ? one.fixed
                                   : flag == "--minShapes" ? one.min
                                   : flag == "--optShapes" ? one.opt
                                                           : one.max;
    for (ShapeSpec& spec : parse_shapes(value, flag)) part.push_back(std::move(spec));
    check_repeats(part, flag);
  }
  std::vector<ShapeFlags> list;
  for (auto& [index, flags] : profiles) {
    if (index != static_cast<int>(list.size())) {
      throw UsageError(
          fmt::format("--profile={} without --profile={}: indices are contiguous from 0", index, list.size()));
    }
    list.push_back(std::move(flags));
  }
  if (list.empty()) list.emplace_back();
  return list;
}

Isa parse_isa(const std::string& text) {
  const Isa have = enable_isa(detect_isa()) ? detect_isa() : Isa::kAvx512Vnni;
  if (text == "native") return have;
  if (text.find('+') != std::string::npos) {
    throw UsageError("--isa: several instruction sets in one engine are not built yet; name one");
  }
  for (int i = 0; i < kIsaCount; ++i) {
    const Isa isa = static_cast<Isa>(i);
    if (text != planwright::name_of(isa)) continue;
    if (isa > have) {
      throw Error(StatusCode::kIncompatible,
                  fmt::format("--isa={}: this CPU has {} at most, and tactics are timed on it", text,
                              planwright::name_of(have)));
    }
    return isa;
  }
  throw UsageError(
      fmt::format("--isa: '{}' is none of native, reference, baseline, avx2, avx512, avx512vnni, amx", text));
}

// The names that --tacticSources may use.
std::vector<std::string> tactic_sources() {
  std::vector<std::string> names;
  int count = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int k = 0; k < tables[t]->count; ++k) names.push_back(tactics::tactic_source(tables[t]->kernels[k].name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> parse_sources(const std::vector<std::string>& parts) {
  const std::vector<std::string> known = tactic_sources();
  std::vector<std::string> excluded;
  for (const std::string& part : parts) {
    const std::string name = part.substr(std::min<size_t>(part.size(), 1));
    if (part.empty() || (part[0] != '+' && part[0] != '-')) {
      throw UsageError(fmt::format("--tacticSources: write +NAME or -NAME, not '{}'", part));
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError(
          fmt::format("--tacticSources: there is no source '{}'; there are: {}", name, fmt::join(known, ", ")));
    }
    if (name == "reference") throw UsageError("--tacticSources: reference kernels are the last resort and stay");
    std::erase(excluded, name);
    if (part[0] == '-') excluded.push_back(name);
  }
  return excluded;
}

// "60s", "500ms", "2m"; a plain number is seconds.
double parse_seconds(const std::string& text, const std::string& flag) {
  double number = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix(stop, text.data() + text.size());
  double unit = 0;
  if (suffix == "ms") unit = 1e-3;
  if (suffix.empty() || suffix == "s") unit = 1;
  if (suffix == "m") unit = 60;
  if (failure != std::errc() || unit == 0 || !(number > 0) || !std::isfinite(number * unit)) {
    throw UsageError(
        fmt::format("{}: '{}' is no time; write a number of seconds above 0, or one with ms, s or m", flag, text));
  }
  return number * unit;
}

// 0.1% or 0.001
double parse_share(const std::string& text, const std::string& flag) {
  double number = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix(stop, text.data() + text.size());
  if (suffix == "%") number /= 100;
  if (failure != std::errc() || !(suffix.empty() || suffix == "%") || !(number >= 0 && number <= 1)) {
    throw UsageError(fmt::format("{}: '{}' is no share; write 0.1% or 0.001, at most 100%", flag, text));
  }
  return number;
}

// int8, int4, or int4:g64
builder::WeightRounding parse_weight_rounding(const std::string& text) {
  constexpr int kDefaultBlock = 32;
  if (text == "int8") return {8, 0};
  if (text == "int4") return {4, kDefaultBlock};
  for (const int block : {32, 64, 128}) {
    if (text == fmt::format("int4:g{}", block)) return {4, block};
  }
  throw UsageError(fmt::format("--weightOnly: '{}' is none of int8, int4, int4:g32, int4:g64, int4:g128", text));
}

// nullopt: whichever is best
std::optional<calibrator::Calibrator> parse_calibrator(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const std::optional<calibrator::Calibrator> known = calibrator::parse_calibrator(text);
  if (known) return known;
  std::vector<std::string> names;
  for (const calibrator::Calibrator one : calibrator::kCalibrators) names.push_back(calibrator::name_of(one));
  throw UsageError(fmt::format("--calibrator: '{}' is none of auto, {}", text, fmt::join(names, ", ")));
}

// Whether ranges are to be made up.
bool parse_int8_mode(const std::string& text) {
  if (text.empty() || text == "perfOnly") return !text.empty();
  throw UsageError(fmt::format("--int8: '{}' is not perfOnly, the one value it may have", text));
}

// Pins to what there is leave for; those that are ignored may be to anything.
void check_pins(const PinFlags& pins, bool int8, bool bf16) {
  if (pins.empty()) return;
  const auto check = [&](const std::vector<LayerSpec>& specs, const char* flag, bool is_output) {
    for (const LayerSpec& spec : specs) {
      for (const PinType type : spec.types) {
        if (type == PinType::kBf16 && is_output) {
          throw UsageError(
              fmt::format("{}: '{}' cannot be pinned to bf16: tensors lie in bf16 where the layers around "
                          "them multiply in it; pin these with --layerPrecisions",
                          flag, spec.pattern));
        }
        if ((type == PinType::kInt8 && int8) || (type == PinType::kBf16 && bf16) || type == PinType::kFp32) continue;
        throw UsageError(fmt::format("{}: '{}' is pinned to {}, which needs --{}{}", flag, spec.pattern, name_of(type),
                                     name_of(type), type == PinType::kInt8 ? " and calibration" : ""));
      }
    }
  };
  check(pins.precisions, "--layerPrecisions", false);
  check(pins.output_types, "--layerOutputTypes", true);
}

void parse_pools(const std::string& text, EngineOptions& options) {
  for (const auto& [pool, size] : parse_names(text, "--memPoolSize")) {
    if (pool == "workspace") {
      options.search.workspace_limit = parse_size(size, "--memPoolSize");
    } else if (pool == "arena") {
      options.arena_limit = parse_size(size, "--memPoolSize");
    } else {
      throw UsageError(fmt::format("--memPoolSize: there is no pool '{}'; there are workspace and arena", pool));
    }
  }
}

}  // namespace

std::optional<EngineOptions> parse_build_options(int argc, char** argv) {
  EngineOptions options;
  std::vector<std::string> ignored_by_cli, sources;
  std::string layer_precisions, layer_output_types, constraint;
  std::string isa = "native", pools, budget, max_drop, weight_only, int8_mode, calibrator = "auto";
  Int8Options calibration;
  CLI::App app("Builds an engine, tuned for this machine, from an ONNX model", "buildengine");
  app.set_version_flag("--version", std::string("buildengine ") + pw_version());
  app.add_option("--onnx", options.onnx, "the model (external data beside it allowed)")->required();
  app.add_option("--saveEngine", options.save_engine, "where the engine goes");
  for (const auto& [flag, help] :
       {std::pair("--shapes", "static shapes, name:1x3x224x224,... (of a shape input: its values)"),
        std::pair("--minShapes", "least shapes of the profile"), std::pair("--optShapes", "shapes to tune for"),
        std::pair("--maxShapes", "largest shapes of the profile")}) {
    app.add_option(flag, ignored_by_cli, help)->expected(1)->take_all();
  }
  app.add_option("--profile", ignored_by_cli, "the profile that the shape flags after it belong to")
      ->expected(1)
      ->take_all()
      ->check(whole_number(0, 63));
  app.add_option("--timingCacheFile", options.search.timing_cache_path,
                 "timing cache: read, and extended under a lock");
  CLI::Option* threads = app.add_option("--threads", options.search.threads,
                                        "threads to tune for (default: the cores this process may use)")
                             ->check(whole_number(1, 256));
  CLI::Option* contexts =
      app.add_option("--contexts", options.search.contexts, "contexts to tune for that run at once (1)")
          ->check(whole_number(1, 64));
  app.add_option("--isa", isa, "highest instruction set: native, reference, baseline, avx2, avx512, avx512vnni, amx");
  app.add_option("--avgTiming", options.search.avg_timing, "runs each timed tactic at least gets (8)")
      ->check(whole_number(1, 10000));
  app.add_option("--builderOptimizationLevel", options.search.optimization_level,
                 "0: nothing timed ... 3: default ... 5: exhaustive")
      ->check(whole_number(0, 5));
  app.add_option("--budget", budget, "time for the search, 60s, 500ms or 2m: heavy layers first, then best guesses");
  app.add_option("--maxTactics", options.search.max_tactics, "tactics timed for each layer at most, best guess first")
      ->check(whole_number(1));
  app.add_option("--memPoolSize", pools, "caps: workspace:N[,arena:N], MiB or with B, K, M, G");
  app.add_option("--tacticSources", sources, "kernel families to switch off and on: -NAME,+NAME")->delimiter(',');
  app.add_option("--plugins", options.plugins, "libraries of custom operators: lib.so,...")->delimiter(',');
  app.add_option("--exportLayerInfo", options.export_layer_info, "write the engine's layers to this JSON file");
  CLI::Option* explain =
      app.add_option("--explain", options.explain,
                     "print each layer's tactics (or of layers whose names contain this): times, why others were "
                     "refused or dropped, which was chosen; not why layers were fused or were not")
          ->expected(0, 1);
  app.add_flag("--bf16", options.search.bf16, "let layers multiply in bf16 where that is faster");
  bool best = false;
  app.add_flag("--best", best, "--bf16, and with --calibData or --calib --int8 too");
  CLI::Option* int8 = app.add_option("--int8", int8_mode,
                                     "let layers multiply in int8 where that is faster and outputs stay close enough; "
                                     "=perfOnly: with made-up ranges, only to see how fast that is")
                          ->expected(0, 1);
  const std::vector<CLI::Option*> of_int8 = {
      app.add_option("--calibData", calibration.calib_data,
                     "with --int8: samples, .npz (arrays by input name, first axis samples), a folder of .npy or .npz, "
                     "or a text file that lists them"),
      app.add_option(
          "--calib", calibration.calib,
          "with --int8: calibration cache, read, and written where it lacks; or TensorRT's, which is only read"),
      app.add_option("--calibrator", calibrator,
                     "with --int8: entropy, minmax, percentile, mse, or auto (the one that keeps outputs closest)"),
      app.add_option(
          "--evalData", calibration.eval_data,
          "with --int8: samples to measure with, and whole numbers `label` to compare top-1 by (else a quarter of "
          "--calibData is held out)")};
  app.add_option("--layerPrecisions", layer_precisions,
                 "pin layers to fp32, bf16 (with --bf16) or int8 (with --int8): name:fp32,other*:int8, later ones win");
  app.add_option("--layerOutputTypes", layer_output_types,
                 "pin what layers store for others: fp32, or int8, which quantises the layers that read it");
  app.add_option("--precisionConstraints", constraint,
                 "pins that cannot hold: prefer (default) warns, obey fails the build; none ignores all pins");
  app.add_option("--weightOnly", weight_only,
                 "round the weights of products and look-ups, which are computed in fp32 all the same: int8 (a scale "
                 "for each column or row), int4[:g32|g64|g128] (of products, one for each block of so many rows)");
  app.add_option("--maxDrop", max_drop,
                 "how far outputs may be from fp32's, as 1 - cosine or half the squared relative error: with --int8 on "
                 "samples held out (0.2%), with --bf16 on random inputs (0.1%); 100%: any");
  app.add_flag("--check", options.check, "say whether the model is supported, or all that is not; build nothing");
  app.add_flag("--dryRun", options.dry_run, "do everything but timing and writing");
  app.add_flag("--skipInference", options.skip_inference, "do not measure the engine when it is built");
  app.add_flag("--verbose", options.verbose, "say what each pass and search did");
  app.add_flag("--quiet", options.quiet, "no report and no progress: on stdout only the first and last line");
  options.search.threads = tactics::usable_cores();
  if (!parse_flags(app, argc, argv, kNotHere)) return std::nullopt;
  // Contexts at once share the cores.
  if (contexts->count() > 0 && threads->count() == 0) {
    options.search.threads = std::max(1, options.search.threads / options.search.contexts);
  }

  options.profiles = collect_profiles(app);
  options.has_shapes =
      !(options.profiles.size() == 1 && options.profiles[0].fixed.empty() && options.profiles[0].min.empty() &&
        options.profiles[0].opt.empty() && options.profiles[0].max.empty());
  options.search.isa = parse_isa(isa);
  options.search.excluded_sources = parse_sources(sources);
  if (!pools.empty()) parse_pools(pools, options);
  if (!budget.empty()) options.search.budget_seconds = parse_seconds(budget, "--budget");
  if (!weight_only.empty()) options.weight_only = parse_weight_rounding(weight_only);
  if (!max_drop.empty()) {
    if (!options.search.bf16 && int8->count() == 0 && !best) {
      throw UsageError("--maxDrop belongs to --int8 and --bf16: without them engines compute in fp32");
    }
    options.max_drop = calibration.max_drop = parse_share(max_drop, "--maxDrop");
  }
  for (const CLI::Option* option : of_int8) {
    if (option->count() > 0 && int8->count() == 0 && !best) throw UsageError(option->get_name() + " belongs to --int8");
  }
  options.search.bf16 |= best;
  if (int8->count() > 0 || (best && !(calibration.calib_data.empty() && calibration.calib.empty()))) {
    calibration.calibrator = parse_calibrator(calibrator);
    calibration.perf_only = parse_int8_mode(int8_mode);
    options.int8 = calibration;
  }
  if (!layer_precisions.empty()) options.pins.precisions = parse_layer_specs(layer_precisions, "--layerPrecisions");
  if (!layer_output_types.empty()) {
    options.pins.output_types = parse_layer_specs(layer_output_types, "--layerOutputTypes");
  }
  if (!constraint.empty()) {
    if (layer_precisions.empty() && layer_output_types.empty()) {
      throw UsageError("--precisionConstraints belongs to --layerPrecisions and --layerOutputTypes");
    }
    options.pins.constraint = parse_constraint(constraint);
  }
  check_pins(options.pins, options.int8.has_value(), options.search.bf16);
  options.search.explain = explain->count() > 0;
  if (options.dry_run) options.search.optimization_level = 0;
  if (options.save_engine.empty() && !options.check && !options.dry_run) {
    throw UsageError("--saveEngine is missing: say where the engine goes (or use --check or --dryRun)");
  }
  return options;
}

}  // namespace planwright::apps
