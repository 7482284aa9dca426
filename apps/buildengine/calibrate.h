// Calibration (--calibData): what the user's samples say of a model's activations.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_CALIBRATE_H_
#define PLANWRIGHT_APPS_BUILDENGINE_CALIBRATE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "apps/buildengine/loose_engine.h"
#include "builder/build.h"
#include "builder/onnx/model.h"
#include "calibrator/calibration_cache.h"
#include "calibrator/samples.h"

namespace planwright::apps {

// What a first look at samples tells.
struct SampleSurvey {
  uint64_t count = 0;
  builder::Profile shapes;         // that hold all of them; opt: the largest
  std::vector<Tensors> held_out;   // kept out of calibration, to measure with
  std::set<uint64_t> held_hashes;  // which those are
};

// The arrays that samples of a model have.
std::vector<calibrator::InputSpec> sample_inputs(const builder::OnnxModel& model);

// Reads all samples once. A quarter of them is held out, at most `most_held`, and none of fewer than four: those of
// the least hashes of what they hold, so that neither order nor files decide which.
SampleSurvey survey_samples(const builder::OnnxModel& model, calibrator::SampleSource& samples, uint64_t most_held);

// Runs all samples but those held out through `plan`, which exposes the activations of `layers`, twice, and puts what
// they say into the cache. `progress` is told of runs done and to do. Throws Error, pw::Failure.
void calibrate(const planfmt::PlanModel& plan, const std::vector<ir::QuantisableLayer>& layers,
               calibrator::SampleSource& samples, const SampleSurvey& survey, calibrator::CalibrationCache& cache,
               const std::function<void(uint64_t done, uint64_t total)>& progress,
               const std::function<void(const std::string&)>& warn);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_CALIBRATE_H_
