// Which layers of a model are int8, with which levels.
#ifndef PLANWRIGHT_CALIBRATOR_LEVEL_POLICY_H_
#define PLANWRIGHT_CALIBRATOR_LEVEL_POLICY_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "builder/ir/precision_policy.h"
#include "calibrator/calibration_cache.h"
#include "calibrator/tensorrt_cache.h"

namespace planwright::calibrator {

// Whether a layer can have the levels that were calibrated for its activation: in another model its readers may be
// others.
bool fits(const TensorCalibration& known, const ir::QuantisableLayer& layer);

class LevelPolicy : public ir::PrecisionPolicy {
 public:
  // The levels that `calibrator` makes of what is known of each layer's activation; layers of which nothing is known
  // have none.
  LevelPolicy(const CalibrationCache& cache, const std::vector<ir::QuantisableLayer>& layers, Calibrator calibrator);

  // Levels made up for all of them, where only speed matters.
  explicit LevelPolicy(const std::vector<ir::QuantisableLayer>& layers);

  // Layers whose activation the cache names have its levels: of both signs, whatever their values have.
  void use(const TensorRtCache& cache, const std::vector<ir::QuantisableLayer>& layers);

  std::optional<ir::Levels> levels_for(const ir::QuantisableLayer& layer) const override;

  // Layers of these names stay in floats, all others are int8 again.
  void keep_in_floats(std::set<std::string> layers) { in_floats_ = std::move(layers); }

 private:
  std::map<uint64_t, ir::Levels> levels_;
  std::set<std::string> in_floats_;
};

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_LEVEL_POLICY_H_
