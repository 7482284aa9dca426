// Keeping the weights of an engine small where speed has little to lose. Knows nothing of kernels.
#ifndef PLANWRIGHT_TACTICS_WEIGHT_BOUND_H_
#define PLANWRIGHT_TACTICS_WEIGHT_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace planwright::tactics {

// What a tactic of a layer takes.
struct PackedTactic {
  size_t candidate = 0;  // the layer's own number for it
  uint64_t bytes = 0;    // that its weights are stored in
  double time_us = 0;
};

struct PackedLayer {
  std::vector<PackedTactic> tactics;  // that may be chosen; none where there are no weights
  size_t chosen = 0;                  // of `tactics`
};

// What all of an engine's weights may take: a third more than in the model, or kWeightSlack, which no device lacks.
inline constexpr uint64_t kWeightSlack = uint64_t{12} << 20;
uint64_t weight_limit(uint64_t plain_bytes);

// Chooses tactics of smaller weights, the least time lost for a byte first, until all fit into `limit` or nothing is
// smaller.
void bound_weights(uint64_t limit, std::vector<PackedLayer>* layers);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_WEIGHT_BOUND_H_
