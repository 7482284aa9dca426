#include "apps/common/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "schemas/types/minifloat.h"

namespace planwright::apps {
namespace {

template <typename T>
T load(const std::byte* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

// long double holds every element of every type exactly.
long double element(const ir::Tensor& tensor, size_t index) {
  const std::byte* data = tensor.data.data();
  switch (tensor.dtype) {
    case DType::kF32: return load<float>(data, index);
    case DType::kF64: return load<double>(data, index);
    case DType::kF16: return float_of_f16(load<uint16_t>(data, index));
    case DType::kBF16: return float_of_bf16(load<uint16_t>(data, index));
    case DType::kI8: return load<int8_t>(data, index);
    case DType::kI16: return load<int16_t>(data, index);
    case DType::kI32: return load<int32_t>(data, index);
    case DType::kI64: return load<int64_t>(data, index);
    case DType::kU8:
    case DType::kBool: return load<uint8_t>(data, index);
    case DType::kU16: return load<uint16_t>(data, index);
    case DType::kU32: return load<uint32_t>(data, index);
    case DType::kU64: return load<uint64_t>(data, index);
    default: return value_of_byte(tensor.dtype, load<uint8_t>(data, index));
  }
}

}  // namespace

std::string compare(const ir::Tensor& got, const ir::Tensor& want, double rtol, double atol) {
  if (got.dtype != want.dtype) return fmt::format("type {}, wanted {}", name_of(got.dtype), name_of(want.dtype));
  if (got.dims != want.dims) {
    return fmt::format("dims [{}], wanted [{}]", fmt::join(got.dims, ", "), fmt::join(want.dims, ", "));
  }
  const size_t count = want.data.size() / size_of(want.dtype);
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    const long double g = element(got, i), w = element(want, i);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    if (std::isfinite(w) && std::fabs(g - w) <= atol + rtol * std::fabs(w)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ, the first at {}: {}, wanted {}", wrong, count, first,
                     static_cast<double>(element(got, first)), static_cast<double>(element(want, first)));
}

double element_value(const ir::Tensor& tensor, size_t index) { return static_cast<double>(element(tensor, index)); }

Distance distance(const ir::Tensor& got, const ir::Tensor& want) {
  const size_t count = want.data.size() / size_of(want.dtype);
  double dot = 0, got_squares = 0, want_squares = 0, error_squares = 0;
  Distance result;
  for (size_t i = 0; i < count; ++i) {
    const double g = static_cast<double>(element(got, i)), w = static_cast<double>(element(want, i));
    dot += g * w;
    got_squares += g * g;
    want_squares += w * w;
    error_squares += (g - w) * (g - w);
    if (!(std::fabs(g - w) <= result.l_inf)) result.l_inf = std::fabs(g - w);
  }
  const double sizes = std::sqrt(got_squares * want_squares);
  // NaN is neither zero nor unlike anything.
  result.cosine = sizes == 0 ? (got_squares == want_squares ? 1 : 0) : dot / sizes;
  result.l2 = std::sqrt(error_squares) / std::max(std::sqrt(want_squares), 1e-30);
  return result;
}

}  // namespace planwright::apps
