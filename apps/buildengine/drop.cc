#include "apps/buildengine/drop.h"

#include <algorithm>
#include <cmath>

#include "apps/common/compare.h"

namespace planwright::apps {
namespace {

double drop_of(const ir::Tensor& got, const ir::Tensor& want) {
  const Distance apart = distance(got, want);
  if (std::isnan(apart.l2)) return 1;
  const bool is_single = want.data.size() == size_of(want.dtype);  // has no direction
  const double drop = std::max(is_single ? 0.0 : 1 - apart.cosine, apart.l2 * apart.l2 / 2);
  return std::isnan(drop) ? 1 : std::min(1.0, drop);
}

}  // namespace

Drop drop_between(const Tensors& got, const Tensors& want) {
  Drop worst;
  for (const auto& [name, exact] : want) {
    const auto found = got.find(name);
    if (!is_float(exact.dtype) || found == got.end() || found->second.dims != exact.dims) continue;
    if (std::isnan(distance(exact, exact).cosine)) continue;
    worst = worse(worst, {drop_of(found->second, exact), name});
  }
  return worst;
}

}  // namespace planwright::apps
