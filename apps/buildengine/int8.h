// Builds in int8 (--int8): calibration, then the layers for which int8 pays and keeps the outputs close enough.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_INT8_H_
#define PLANWRIGHT_APPS_BUILDENGINE_INT8_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/buildengine/drop.h"
#include "builder/build.h"
#include "builder/onnx/model.h"
#include "calibrator/thresholds.h"

namespace planwright::apps {

struct Int8Options {
  std::string calib_data;  // samples; empty: all that is needed is in the cache
  std::string calib;       // calibration cache, read and written; empty: none
  std::string eval_data;   // samples to measure with; empty: some of calib_data, which are held out
  std::optional<calibrator::Calibrator> calibrator;  // nullopt: the one that keeps the outputs closest
  double max_drop = 3e-3;                            // drop.h
  bool perf_only = false;                            // made-up levels, nothing calibrated and nothing measured
};

struct Int8Request {
  const builder::OnnxModel& model;
  builder::BuildOptions options;  // of the best build in floats
  Int8Options int8;
  std::function<void(const std::string&)> say, detail, warn;
  std::function<void(const char* what, uint64_t done, uint64_t total)> progress;
};

// What was found of a layer that could be int8.
struct LayerSensitivity {
  std::string name;
  std::optional<double> drop;     // of an engine in which it alone is int8; measured where all together are too far off
  std::optional<double> gain_us;  // by which the engine is slower where it is in floats; of layers that were tried
  bool is_int8 = false;
};

struct Int8Result {
  builder::BuildResult built;
  std::vector<LayerSensitivity> layers;
  std::string note;  // for the engine and its user: which layers, how far off
};

// The fastest of: the engine in floats; engines with those layers in int8 that are faster so and whose outputs, on the
// samples held out, are within what is allowed. Throws Error: kInvalid (FAULTS B20) where nothing says how to quantise.
Int8Result build_int8(const Int8Request& request);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_INT8_H_
