// What decides in which precision layers compute, where a build has leave for int8: calibration and measurements, of
// which graphs and passes know nothing.
#ifndef PLANWRIGHT_BUILDER_IR_PRECISION_POLICY_H_
#define PLANWRIGHT_BUILDER_IR_PRECISION_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace planwright::ir {

// A layer that could multiply bytes: a Conv or MatMul by constant weights, as it is before layers are fused.
struct QuantisableLayer {
  std::string name;        // the user's
  std::string activation;  // the tensor whose levels it would multiply, as the model calls it
  uint64_t key = 0;        // of what produces that tensor (builder/structure_hash.h)
  // The tensor's axis along which each channel may have a scale of its own, for all that reads it multiplies each by
  // weights of its own, and how many there are; -1 where one scale must do.
  int channel_axis = -1;
  int64_t channels = 0;
  // The largest magnitude of those weights, of all layers that read the tensor; 0 where each channel is summed up alone
  // (depthwise). Only where activations are exposed.
  std::vector<float> channel_weights = {};
};

// A uint8 `level` of channel c stands for (level - zero) * scale * factors[c].
struct Levels {
  float scale = 1;  // a normal number above 0
  int32_t zero = 0;
  std::vector<float> factors = {};  // of the layer's `channels`, normal numbers above 0; empty: 1
};

class PrecisionPolicy {
 public:
  virtual ~PrecisionPolicy() = default;
  // The levels of the layer's activation; nullopt where the layer stays in floats. The same for all layers that read
  // an activation, where it gives any.
  virtual std::optional<Levels> levels_for(const QuantisableLayer& layer) const = 0;
};

}  // namespace planwright::ir

#endif  // PLANWRIGHT_BUILDER_IR_PRECISION_POLICY_H_
