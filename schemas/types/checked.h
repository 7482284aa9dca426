// Sizes are only ever computed through these: an overflow is a result, never a wrap.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_CHECKED_H_
#define PLANWRIGHT_SCHEMAS_TYPES_CHECKED_H_

#include <cstdint>

namespace planwright {

// Each returns true and sets *result when the mathematical result fits; otherwise false and *result is unspecified.
template <typename T>
[[nodiscard]] constexpr bool checked_add(T a, T b, T* result) {
  return !__builtin_add_overflow(a, b, result);
}
template <typename T>
[[nodiscard]] constexpr bool checked_sub(T a, T b, T* result) {
  return !__builtin_sub_overflow(a, b, result);
}
template <typename T>
[[nodiscard]] constexpr bool checked_mul(T a, T b, T* result) {
  return !__builtin_mul_overflow(a, b, result);
}

// Whether [offset, offset + size) lies in [0, total); by subtraction, so it cannot wrap.
constexpr bool in_range(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

// `value` rounded up to a multiple of `alignment` (a power of two).
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_CHECKED_H_
