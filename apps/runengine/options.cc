#include "apps/runengine/options.h"

#include <CLI/CLI.hpp>

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
    {"--plugins", "custom operators are not built yet"},
    {"--batch", "give the batch in --shapes"},
    {"--logFormat", "logs are text so far"},
    {"--onnx", "buildengine makes engines from models"},
};

}  // namespace

std::optional<RunOptions> parse_run_options(int argc, char** argv) {
  RunOptions options;
  InferenceOptions& inference = options.inference;
  std::string shapes, inputs;
  CLI::App app("Runs an engine: reports latency, throughput and memory, or compares outputs with known ones",
               "runengine");
  app.set_version_flag("--version", std::string("runengine ") + pw_version());
  app.add_option("--loadEngine", options.engine, "the engine file")->required();
  app.add_option("--shapes", shapes, "input shapes, name:1x3x224x224,... (default: the profile's opt)");
  app.add_option("--useProfile", inference.profile, "profile to use (default: the tightest that holds the shapes)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--loadInputs", inputs, "input data, name:file,... (.npy, or raw bytes; default: random)");
  app.add_option("--saveOutputs", options.save_outputs, "write every output to this .npz");
  app.add_option("--testData", options.test_data,
                 "an ONNX backend-test folder: run its data sets, compare, exit 1 on a mismatch");
  app.add_option("--rtol", options.accuracy.rtol, "relative tolerance of --testData (1e-3)");
  app.add_option("--atol", options.accuracy.atol, "absolute tolerance of --testData (1e-5)");
  app.add_option("--accuracyAlgorithm", options.accuracy.algorithm, "judge whole outputs: cos, l2 or lInf")
      ->check(CLI::IsMember({"cos", "l2", "lInf"}));
  app.add_option("--accuracyThreshold", options.accuracy.threshold, "least cosine, or largest l2 or lInf difference");
  app.add_option("--iterations", inference.iterations, "least queries (10)")->check(CLI::PositiveNumber);
  app.add_option("--warmUp", inference.warmup_ms, "milliseconds before counting (200)")->check(CLI::NonNegativeNumber);
  app.add_option("--duration", inference.duration_s, "least seconds (3)")->check(CLI::NonNegativeNumber);
  app.add_option("--avgRuns", options.report.avg_runs, "queries in one trace average (10)")->check(CLI::PositiveNumber);
  app.add_option("--percentile", options.report.percentiles, "percentiles to report (90,95,99)")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--infStreams", inference.streams, "contexts at once (1)")->check(CLI::Range(1, 256));
  app.add_option("--threads", inference.threads, "threads of each context (default: what the engine was tuned for)")
      ->check(CLI::Range(0, 256));
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
  app.add_flag("--quiet", options.quiet, "no report, only the first and last line");
  if (!parse_flags(app, argc, argv, kNotHere)) return std::nullopt;

  if (!shapes.empty()) options.shapes = parse_shapes(shapes, "--shapes");
  if (!inputs.empty()) options.input_files = parse_names(inputs, "--loadInputs");
  if (options.accuracy.algorithm.empty() != (app.count("--accuracyThreshold") == 0)) {
    throw UsageError("--accuracyAlgorithm and --accuracyThreshold go together");
  }
  return options;
}

}  // namespace planwright::apps
