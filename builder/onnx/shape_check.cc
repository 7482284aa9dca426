#include "builder/onnx/shape_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/types/checked.h"
#include "schemas/types/dtype.h"
#include "schemas/types/error.h"

namespace planwright::builder {

void check_shape(const ir::Shape& dims, const std::string& what) {
  if (dims.size() > kMaxRank) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("{}: a tensor of {} axes; the most is {}", what, dims.size(), kMaxRank));
  }
  int64_t count = 1;
  for (const ir::Dim& dim : dims) {
    const ir::Interval range = ir::range_of(dim);
    if (range.max < 0) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: a tensor {} has a negative dim", what, ir::to_string(dims)));
    }
    const int64_t length = dim.is_constant() ? std::max<int64_t>(dim.constant(), 1) : 1;
    if (range.min > kMaxDim || !checked_mul(count, length, &count) || count > kMaxCount) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{}: a tensor {} is larger than any memory", what, ir::to_string(dims)));
    }
  }
}

}  // namespace planwright::builder
