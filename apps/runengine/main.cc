// runengine: runs an engine file and reports what it costs.
#include <fmt/format.h>

#include <utility>

#include "apps/common/console.h"
#include "apps/common/files.h"
#include "apps/common/inference.h"
#include "apps/common/log.h"
#include "apps/common/plugins.h"
#include "apps/common/report.h"
#include "apps/runengine/exports.h"
#include "apps/runengine/load_inputs.h"
#include "apps/runengine/options.h"
#include "apps/runengine/test_data.h"
#include "calibrator/arrays/npz.h"

namespace planwright::apps {
namespace {

// One run for its outputs.
void save_outputs(const pw::Engine& engine, const RunOptions& options, Tensors& inputs) {
  BoundContext bound(engine, context_options(options.inference), inputs);
  bound.run();
  const Tensors& outputs = bound.outputs();
  if (!options.save_outputs.empty()) {
    write_file(options.save_outputs, arrays::format_npz({outputs.begin(), outputs.end()}));
  }
  if (!options.export_output.empty()) export_output(outputs, options.export_output);
  if (options.dump_output && !options.quiet) print_output(outputs);
}

void print_context(const pw::Engine& engine, const RunOptions& options, Tensors& inputs) {
  BoundContext bound(engine, context_options(options.inference), inputs);
  bound.run();  // after which every output has its shape
  const pw_context_info info = bound.info();
  log_line('V', fmt::format("profile {}, {} thread{}, {} step{}, arena of {} bytes", info.profile, info.threads,
                            info.threads == 1 ? "" : "s", info.step_count, info.step_count == 1 ? "" : "s",
                            info.arena_bytes));
  for (const Tensors* tensors : {&std::as_const(inputs), &bound.outputs()}) {
    for (const auto& [name, tensor] : *tensors) {
      log_line('V', fmt::format("'{}': {} {}", name, planwright::name_of(tensor.dtype), format_dims(tensor.dims)));
    }
  }
}

// Before any work: what is written must be writable, and nothing that is read or written twice.
void check_paths(const RunOptions& options) {
  std::vector<NamedFile> read{{"--loadEngine", options.engine}};
  for (const std::string& path : options.plugins) read.push_back({"--plugins", path});
  for (const auto& [name, path] : options.input_files) read.push_back({"--loadInputs", path});
  check_files(read, {{"--saveOutputs", options.save_outputs},
                     {"--exportOutput", options.export_output},
                     {"--exportTimes", options.export_times},
                     {"--exportProfile", options.export_profile}});
}

// Measures, with layers in the same run or in one of their own.
void measure_and_report(const pw::Engine& engine, const RunOptions& options, Tensors& inputs) {
  const bool profile = options.dump_profile || !options.export_profile.empty();
  InferenceOptions inference = options.inference;
  inference.layer_times = profile && !options.separate_profile_run;
  Measurement measurement = measure(engine, inference, inputs);
  if (!options.quiet) print_report(engine, measurement, options.report);
  if (!options.export_times.empty()) export_times(measurement, options.export_times);
  if (!profile) return;
  if (options.separate_profile_run) {
    inference.layer_times = true;
    measurement = measure(engine, inference, inputs);
  }
  if (options.dump_profile && !options.quiet) print_layer_times(measurement);
  if (!options.export_profile.empty()) export_profile(measurement, options.export_profile);
}

int run_main(int argc, char** argv) {
  const std::optional<RunOptions> parsed = parse_run_options(argc, argv);
  if (!parsed) return kExitPassed;
  RunOptions options = *parsed;
  check_paths(options);
  load_plugins(options.plugins);
  const pw::Engine engine(options.engine);  // verifies every byte
  // Whatever is done with it: outputs may mean nothing (--int8=perfOnly).
  if (const pw_engine_info info = engine.info(); *info.note != '\0' && !options.quiet) {
    fmt::print("Precision: {}\n", info.note);
  }
  if (options.verify && !options.quiet) fmt::print("{}: every byte checks\n", options.engine);
  if ((options.inspect || options.dump_layer_info) && !options.quiet) print_engine(engine, options.inspect, true);
  if (options.verify || options.inspect) return kExitPassed;
  if (!options.test_data.empty()) return run_test_data(engine, options) ? kExitPassed : kExitFailed;

  Tensors inputs = load_inputs(engine, options.input_files, options.shapes, &options.inference.profile);
  if (!options.save_outputs.empty() || !options.export_output.empty() || options.dump_output) {
    save_outputs(engine, options, inputs);
  }
  if (options.verbose && !options.quiet) print_context(engine, options, inputs);
  measure_and_report(engine, options, inputs);
  return kExitPassed;
}

}  // namespace
}  // namespace planwright::apps

int main(int argc, char** argv) {
  return planwright::apps::run_program("runengine", argc, argv, [&] { return planwright::apps::run_main(argc, argv); });
}
