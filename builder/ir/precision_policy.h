// What decides in which precision layers compute, where a build has leave for int8: calibration and measurements, of
// which graphs and passes know nothing.
#ifndef PLANWRIGHT_BUILDER_IR_PRECISION_POLICY_H_
#define PLANWRIGHT_BUILDER_IR_PRECISION_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace planwright::ir {

// A layer that could multiply bytes: a Conv or MatMul by constant weights, as it is before layers are fused.
struct QuantisableLayer {
  std::string name;        // the user's
  std::string activation;  // the tensor whose levels it would multiply, as the model calls it
  uint64_t key = 0;        // of what produces that tensor (builder/structure_hash.h)
};

// A uint8 `level` stands for (level - zero) * scale.
struct Levels {
  float scale = 1;  // a normal number above 0
  int32_t zero = 0;
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
