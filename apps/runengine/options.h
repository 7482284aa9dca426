// runengine's command line.
#ifndef PLANWRIGHT_APPS_RUNENGINE_OPTIONS_H_
#define PLANWRIGHT_APPS_RUNENGINE_OPTIONS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/inference.h"
#include "apps/common/report.h"

namespace planwright::apps {

// How outputs are judged against wanted ones (--testData).
struct Accuracy {
  double rtol = 1e-3, atol = 1e-5;
  std::string algorithm;  // "", "cos", "l2", "lInf"; empty: element by element with rtol and atol
  double threshold = 0;
};

struct RunOptions {
  std::string engine;
  std::vector<std::string> plugins;
  std::vector<ShapeSpec> shapes;
  std::vector<std::pair<std::string, std::string>> input_files;  // --loadInputs
  std::string save_outputs;
  std::string test_data;
  Accuracy accuracy;
  InferenceOptions inference;
  ReportOptions report;
  bool dump_profile = false, separate_profile_run = false;
  std::string export_profile, export_times, export_output;
  bool dump_output = false, dump_layer_info = false;
  bool inspect = false, verify = false;
  bool verbose = false, quiet = false;
};

// Throws UsageError; nothing after --help or --version was printed.
std::optional<RunOptions> parse_run_options(int argc, char** argv);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_RUNENGINE_OPTIONS_H_
