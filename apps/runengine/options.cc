#include "apps/runengine/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"
#include "apps/common/shape_spec.h"

namespace planwright::apps {
namespace {

const std::vector<KnownFlag> kNotHere = {
    {"--batchWindow", "dynamic batching of simulated arrivals is not built yet"},
    {"--maxBatch", "dynamic batching of simulated arrivals is not built yet"},
    {"--rate", "dynamic batching of simulated arrivals is not built yet"},
    {"--compare", "measure each engine on its own and compare the medians for now"},
    {"--maxRegression", "it belongs to --compare, which is not built yet"},
    {"--selftest", "engines hold no golden input yet; --testData compares with known outputs"},
    {"--useCudaGraph", "engines run on the CPU; there is nothing to capture"},
    {"--noDataTransfers", "bindings are used in place: nothing is transferred"},
    {"--useSpinWait", "a run returns when it is complete"},
    {"--useDLACore", "engines run on the CPU"},
    {"--device", "engines run on the CPU"},
    {"--useManagedMemory", "engines run on the CPU, in its memory"},
    {"--exposeDMA", "bindings are used in place: nothing is transferred"},
    {"--sleepTime", "a query begins when the one before it ends"},
    {"--idleTime", "a query begins when the one before it ends"},
    {"--dumpRawBindingsToFile", "use --saveOutputs"},
    {"--staticPlugins", "use --plugins"},
    {"--dynamicPlugins", "use --plugins"},
    {"--setPluginsToSerialize", "use --plugins; engines hold no code"},
    {"--batch", "give the batch in --shapes"},
    {"--logFormat", "logs are text so far"},
};

std::vector<std::pair<std::string, std::string>> parse_input_files(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> files = parse_names(text, "--loadInputs");
  std::map<std::string, std::string> known;
  for (const auto& [name, path] : files) {
    if (path.empty()) throw UsageError(fmt::format("--loadInputs: '{}:' names no file", name));
    const auto [first, is_new] = known.emplace(name, path);
    if (!is_new) {
      throw UsageError(
          fmt::format("--loadInputs gives input '{}' twice, {} and {}: which one?", name, first->second, path));
    }
  }
  return files;
}

// Flags that would be without effect beside one that decides what is done.
void refuse_contradictions(const CLI::App& app) {
  const std::vector<std::string> of_a_run = {"--loadInputs",  "--saveOutputs",   "--exportOutput",
                                             "--dumpOutput",  "--exportProfile", "--exportTimes",
                                             "--dumpProfile", "--shapes",        "--separateProfileRun"};
  for (const auto& [mode, does] : {std::pair("--testData", "runs the folder's data and compares"),
                                   std::pair("--inspect", "runs nothing"), std::pair("--verify", "runs nothing")}) {
    if (app.count(mode) == 0) continue;
    for (const std::string& flag : of_a_run) {
      if (app.count(flag) > 0) throw UsageError(fmt::format("{} contradicts {}, which {}", flag, mode, does));
    }
  }
  for (const char* flag : {"--rtol", "--atol", "--accuracyAlgorithm", "--accuracyThreshold"}) {
    if (app.count(flag) > 0 && app.count("--testData") == 0) {
      throw UsageError(fmt::format("{} says how --testData compares, which is not given", flag));
    }
  }
}

}  // namespace

std::optional<RunOptions> parse_run_options(int argc, char** argv) {
  RunOptions options;
  InferenceOptions& inference = options.inference;
  std::string shapes, inputs;
  CLI::App app("Runs an engine: reports latency, throughput and memory, or compares outputs with known ones",
               "runengine");
  app.set_version_flag("--version", std::string("runengine ") + pw_version());
  app.add_option("--loadEngine", options.engine, "the engine file")->required();
  app.add_option("--plugins", options.plugins, "libraries of custom operators: lib.so,...")->delimiter(',');
  app.add_option("--shapes", shapes,
                 "input shapes, name:1x3x224x224,..., and values of shape inputs (default: the profile's opt)");
  app.add_option("--useProfile,--useOptimizationProfile", inference.profile,
                 "profile to use (default: the tightest that holds the shapes)")
      ->check(whole_number(0));
  app.add_option("--loadInputs", inputs, "input data, name:file,... (.npy, or raw bytes; default: random)");
  app.add_option("--saveOutputs", options.save_outputs, "write every output to this .npz");
  app.add_option("--testData", options.test_data,
                 "an ONNX backend-test folder: run its data sets, compare, exit 1 on a mismatch");
  app.add_option("--rtol", options.accuracy.rtol, "relative tolerance of --testData (1e-3)")->check(real_number(0));
  app.add_option("--atol", options.accuracy.atol, "absolute tolerance of --testData (1e-5)")->check(real_number(0));
  app.add_option("--accuracyAlgorithm", options.accuracy.algorithm, "judge whole outputs: cos, l2 or lInf")
      ->check(CLI::IsMember({"cos", "l2", "lInf"}));
  app.add_option("--accuracyThreshold", options.accuracy.threshold, "least cosine, or largest l2 or lInf difference")
      ->check(real_number(0));
  app.add_option("--iterations", inference.iterations, "least queries (10)")->check(whole_number(1));
  app.add_option("--warmUp", inference.warmup_ms, "milliseconds before counting (200)")->check(real_number(0, 1e9));
  app.add_option("--duration", inference.duration_s, "least seconds (3)")->check(real_number(0, 1e9));
  app.add_option("--avgRuns", options.report.avg_runs, "queries in one trace average (10)")->check(whole_number(1));
  app.add_option("--percentile", options.report.percentiles, "percentiles to report (90,95,99)")
      ->delimiter(',')
      ->check(real_number(0, 100));
  app.add_option("--infStreams", inference.streams, "contexts at once (1)")->check(whole_number(1, 256));
  app.add_option("--threads", inference.threads, "threads of each context (default: what the engine was tuned for)")
      ->check(whole_number(0, 256));
  app.add_flag("--pin", inference.pin, "pin each context's calling thread to a core");
  app.add_flag("--dumpProfile", options.dump_profile, "print each layer's time");
  app.add_option("--exportProfile", options.export_profile, "write each layer's time to this JSON file");
  app.add_flag("--separateProfileRun", options.separate_profile_run, "measure layers in a run of their own");
  app.add_option("--exportTimes", options.export_times, "write each query's times to this JSON file");
  app.add_option("--exportOutput", options.export_output, "write outputs to this JSON file");
  app.add_flag("--dumpOutput", options.dump_output, "print outputs");
  app.add_flag("--dumpLayerInfo", options.dump_layer_info, "print the engine's layers");
  app.add_flag("--inspect", options.inspect, "print header, device, profiles and layers; run nothing");
  app.add_flag("--verify", options.verify, "check every byte of the engine; run nothing");
  app.add_flag("--verbose", options.verbose, "say which profile, threads and memory a run uses");
  app.add_flag("--quiet", options.quiet, "no report: on stdout only the first and last line");
  if (!parse_flags(app, argc, argv, kNotHere)) return std::nullopt;

  if (!shapes.empty()) options.shapes = parse_shapes(shapes, "--shapes");
  if (!inputs.empty()) options.input_files = parse_input_files(inputs);
  if (options.accuracy.algorithm.empty() != (app.count("--accuracyThreshold") == 0)) {
    throw UsageError("--accuracyAlgorithm and --accuracyThreshold go together");
  }
  refuse_contradictions(app);
  return options;
}

}  // namespace planwright::apps
