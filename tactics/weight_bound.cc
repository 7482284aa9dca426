#include "tactics/weight_bound.h"

#include <algorithm>
#include <optional>

namespace planwright::tactics {
namespace {

struct Exchange {
  size_t layer, tactic;
  double us_per_byte;
};

// Of a layer, the smaller tactic that loses least for a byte.
std::optional<Exchange> cheapest_of(const std::vector<PackedLayer>& layers, size_t index) {
  const PackedLayer& layer = layers[index];
  std::optional<Exchange> cheapest;
  for (size_t i = 0; i < layer.tactics.size(); ++i) {
    const PackedTactic &now = layer.tactics[layer.chosen], &then = layer.tactics[i];
    if (then.bytes >= now.bytes) continue;
    const double price = (then.time_us - now.time_us) / static_cast<double>(now.bytes - then.bytes);
    if (!cheapest || price < cheapest->us_per_byte) cheapest = {index, i, price};
  }
  return cheapest;
}

}  // namespace

uint64_t weight_limit(uint64_t plain_bytes) { return plain_bytes + std::max(plain_bytes / 3, kWeightSlack); }

void bound_weights(uint64_t limit, std::vector<PackedLayer>* layers) {
  uint64_t total = 0;
  for (const PackedLayer& layer : *layers) {
    if (!layer.tactics.empty()) total += layer.tactics[layer.chosen].bytes;
  }
  while (total > limit) {
    std::optional<Exchange> cheapest;
    for (size_t i = 0; i < layers->size(); ++i) {
      const std::optional<Exchange> exchange = cheapest_of(*layers, i);
      if (exchange && (!cheapest || exchange->us_per_byte < cheapest->us_per_byte)) cheapest = exchange;
    }
    if (!cheapest) return;
    PackedLayer& layer = (*layers)[cheapest->layer];
    total -= layer.tactics[layer.chosen].bytes - layer.tactics[cheapest->tactic].bytes;
    layer.chosen = cheapest->tactic;
  }
}

}  // namespace planwright::tactics
