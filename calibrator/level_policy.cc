#include "calibrator/level_policy.h"

#include "calibrator/quantization.h"

namespace planwright::calibrator {

bool fits(const TensorCalibration& known, const ir::QuantisableLayer& layer) {
  return known.factors.empty() || static_cast<int64_t>(known.factors.size()) == layer.channels;
}

LevelPolicy::LevelPolicy(const CalibrationCache& cache, const std::vector<ir::QuantisableLayer>& layers,
                         Calibrator calibrator) {
  for (const ir::QuantisableLayer& layer : layers) {
    const TensorCalibration* known = cache.find(layer.key);
    const std::optional<float> threshold = cache.find_threshold(layer.key, name_of(calibrator));
    if (known == nullptr || !threshold || !fits(*known, layer)) continue;
    const Quantization made = quantize_asymmetric(known->range, *threshold);
    levels_[layer.key] = {made.scale, made.zero, known->factors};
  }
}

LevelPolicy::LevelPolicy(const std::vector<ir::QuantisableLayer>& layers) {
  const ir::Levels kMadeUp = {1.0f / 32, 128, {}};  // -4 to 4
  for (const ir::QuantisableLayer& layer : layers) levels_[layer.key] = kMadeUp;
}

void LevelPolicy::use(const TensorRtCache& cache, const std::vector<ir::QuantisableLayer>& layers) {
  constexpr int32_t kMiddle = 128;  // TensorRT's level 0
  for (const ir::QuantisableLayer& layer : layers) {
    const auto scale = cache.scales.find(layer.activation);
    if (scale != cache.scales.end()) levels_[layer.key] = {scale->second, kMiddle, {}};
  }
}

std::optional<ir::Levels> LevelPolicy::levels_for(const ir::QuantisableLayer& layer) const {
  const auto found = levels_.find(layer.key);
  if (found == levels_.end() || in_floats_.contains(layer.name)) return std::nullopt;
  return found->second;
}

}  // namespace planwright::calibrator
