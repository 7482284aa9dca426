// Builds in int8 (--int8): calibration, then the layers for which int8 pays and keeps the outputs close enough.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_INT8_H_
#define PLANWRIGHT_APPS_BUILDENGINE_INT8_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/buildengine/drop.h"
#include "apps/buildengine/layer_pins.h"
#include "apps/buildengine/sensitivity.h"
#include "builder/build.h"
#include "builder/onnx/model.h"
#include "calibrator/thresholds.h"

namespace planwright::apps {

struct Int8Options {
  std::string calib_data;  // samples; empty: all that is needed is in the cache
  std::string calib;       // calibration cache, read and written; empty: none
  std::string eval_data;   // samples to measure with; empty: some of calib_data, which are held out
  std::optional<calibrator::Calibrator> calibrator;  // nullopt: the one that keeps the outputs closest
  double max_drop = 2e-3;                            // drop.h
  bool perf_only = false;                            // made-up levels, nothing calibrated and nothing measured
};

struct Int8Request {
  const builder::OnnxModel& model;
  builder::BuildOptions options;  // of the best build in floats
  Int8Options int8;
  LayerPins pins;
  std::function<void(const std::string&)> say, detail, warn;
  std::function<void(const char* what, uint64_t done, uint64_t total)> progress;
};

struct Int8Result {
  builder::BuildResult built;  // its plan's note says how many layers are int8 and how far off that is; none in floats
  std::vector<LayerSensitivity> layers;
  double speed_up = 0;  // over the engine in floats, as steps were timed one by one; 0: not timed, or in floats
};

// The fastest of: the engine in floats; engines with those layers in int8 that are faster so and whose outputs, on the
// samples held out, are within what is allowed. Layers that are pinned stay as they are pinned. Throws Error: kInvalid
// where nothing says how to quantise (FAULTS B20), and where pins are obeyed and cannot hold.
Int8Result build_int8(const Int8Request& request);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_INT8_H_
