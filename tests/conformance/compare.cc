#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "tests/conformance/run_case.h"

namespace planwright::conformance {
namespace {

// fp16 and bf16 bits as a float; every such value is one.
float from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const float fraction = static_cast<float>(bits & 1023);
  float value = exponent == 0   ? std::ldexp(fraction, -24)
                : exponent < 31 ? std::ldexp(1024.0f + fraction, exponent - 25)
                : fraction == 0 ? INFINITY
                                : NAN;
  return bits & 0x8000 ? -value : value;
}

float from_bfloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

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
    case DType::kF16: return from_half(load<uint16_t>(data, index));
    case DType::kBF16: return from_bfloat(load<uint16_t>(data, index));
    case DType::kI8: return load<int8_t>(data, index);
    case DType::kI16: return load<int16_t>(data, index);
    case DType::kI32: return load<int32_t>(data, index);
    case DType::kI64: return load<int64_t>(data, index);
    case DType::kU8:
    case DType::kBool: return load<uint8_t>(data, index);
    case DType::kU16: return load<uint16_t>(data, index);
    case DType::kU32: return load<uint32_t>(data, index);
    case DType::kU64: return load<uint64_t>(data, index);
  }
  return 0;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

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
    if (std::fabs(g - w) <= atol + rtol * std::fabs(w)) continue;  // false where either is not finite
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ, the first at {}: {}, wanted {}", wrong, count, first,
                     static_cast<double>(element(got, first)), static_cast<double>(element(want, first)));
}

bool mentions_any(const std::string& message, const std::vector<std::string>& words) {
  if (words.empty()) return true;
  for (const std::string& word : words) {
    for (size_t at = message.find(word); at != std::string::npos; at = message.find(word, at + 1)) {
      const bool starts = at == 0 || !is_word(message[at - 1]) || !is_word(word.front());
      const size_t end = at + word.size();
      const bool ends = end == message.size() || !is_word(message[end]) || !is_word(word.back());
      if (starts && ends) return true;
    }
  }
  return false;
}

}  // namespace planwright::conformance
