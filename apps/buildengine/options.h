// buildengine's command line.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_OPTIONS_H_
#define PLANWRIGHT_APPS_BUILDENGINE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/buildengine/int8.h"
#include "apps/buildengine/layer_pins.h"
#include "apps/buildengine/profiles.h"
#include "builder/passes/passes.h"
#include "tactics/select.h"

namespace planwright::apps {

struct EngineOptions {
  std::string onnx, save_engine;
  std::vector<std::string> plugins;
  std::vector<ShapeFlags> profiles;  // at least one
  bool has_shapes = false;           // any shape flag was given
  tactics::SearchOptions search;
  std::optional<builder::WeightRounding> weight_only;
  std::optional<Int8Options> int8;  // leave for int8
  PinFlags pins;
  double max_drop = 1e-3;  // with bf16: of 1 - cosine to fp32; 1: any
  uint64_t arena_limit = UINT64_MAX;
  std::string export_layer_info;
  std::string explain;  // what the names of the layers explained contain; search.explain says whether any are
  bool check = false, dry_run = false, skip_inference = false;
  bool verbose = false, quiet = false;
};

// Throws UsageError, or Error(kIncompatible) for an --isa that this CPU cannot time; nothing after --help or --version.
std::optional<EngineOptions> parse_build_options(int argc, char** argv);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_OPTIONS_H_
