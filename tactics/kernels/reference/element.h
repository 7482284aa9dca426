// Typed loads and stores of single elements: what lets a reference kernel be written once for all types.
//
// Kernels compute in one of four types T: float, double, int64_t, uint64_t. A load widens any element to T, a store
// converts T to the element's type: floats round to nearest even, integers wrap, and float to integer truncates and
// saturates at 64 bits first.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_ELEMENT_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_ELEMENT_H_

#include <cstdint>

#include "schemas/types/dtype.h"
#include "schemas/types/half.h"
#include "schemas/types/minifloat.h"
#include "tactics/kernels/kernel.h"

namespace planwright::reference {

template <typename T>
inline constexpr bool kIsFloating = false;
template <>
inline constexpr bool kIsFloating<float> = true;
template <>
inline constexpr bool kIsFloating<double> = true;

// Exactly what a C++ cast does where that is defined; NaN to 0, past the ends to the nearest end.
template <typename To, typename From>
To convert(From value) {
  if constexpr (kIsFloating<From> && !kIsFloating<To>) {
    constexpr bool kSigned = To(-1) < To(0);
    constexpr From kEnd = kSigned ? From(0x1p63) : From(0x1p64);  // one past the largest
    if (value != value) return 0;
    if (value >= kEnd) return kSigned ? static_cast<To>(INT64_MAX) : static_cast<To>(UINT64_MAX);
    if (kSigned && value < -kEnd) return static_cast<To>(INT64_MIN);
    if (!kSigned && value <= From(-1)) return 0;
  }
  return static_cast<To>(value);
}

// Rounded toward zero with the last bit set where that was inexact, so that rounding the result again to 11 bits or
// fewer gives what rounding once would have.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = bits_of(nearest);
  const double magnitude = value < 0 ? -value : value;
  if (static_cast<double>(float_of_bits(bits & 0x7FFFFFFFu)) > magnitude) --bits;
  return float_of_bits(bits | 1u);
}

// The float to narrow to 16 bits or fewer. 64-bit integers go through double, which is inexact only past 2^53, where
// these types keep far fewer bits.
template <typename T>
float float_to_narrow(T value) {
  return round_to_odd(static_cast<double>(value));
}

// Element `index` of `base` as a C++ object; memcpy, since the bytes are at times another type's.
template <typename E>
E read_element(const void* base, int64_t index) {
  E element;
  __builtin_memcpy(&element, static_cast<const char*>(base) + index * int64_t{sizeof(E)}, sizeof(E));
  return element;
}
template <typename E>
void write_element(void* base, int64_t index, E element) {
  __builtin_memcpy(static_cast<char*>(base) + index * int64_t{sizeof(E)}, &element, sizeof(E));
}

// Element `index` of `base`, which has elements of `type`.
template <typename T>
T load(DType type, const void* base, int64_t index) {
  switch (type) {
    case DType::kF32: return convert<T>(read_element<float>(base, index));
    case DType::kF64: return convert<T>(read_element<double>(base, index));
    case DType::kF16: return convert<T>(float_of_f16(read_element<uint16_t>(base, index)));
    case DType::kBF16: return convert<T>(float_of_bf16(read_element<uint16_t>(base, index)));
    case DType::kI8: return convert<T>(read_element<int8_t>(base, index));
    case DType::kI16: return convert<T>(read_element<int16_t>(base, index));
    case DType::kI32: return convert<T>(read_element<int32_t>(base, index));
    case DType::kI64: return convert<T>(read_element<int64_t>(base, index));
    case DType::kU8: return convert<T>(read_element<uint8_t>(base, index));
    case DType::kU16: return convert<T>(read_element<uint16_t>(base, index));
    case DType::kU32: return convert<T>(read_element<uint32_t>(base, index));
    case DType::kU64: return convert<T>(read_element<uint64_t>(base, index));
    case DType::kBool: return read_element<uint8_t>(base, index) != 0 ? T(1) : T(0);
    default: return convert<T>(value_of_byte(type, read_element<uint8_t>(base, index)));
  }
}

template <typename T>
void store(DType type, void* base, int64_t index, T value) {
  switch (type) {
    case DType::kF32: return write_element(base, index, static_cast<float>(value));
    case DType::kF64: return write_element(base, index, static_cast<double>(value));
    case DType::kF16: return write_element(base, index, f16_of_float(float_to_narrow(value)));
    case DType::kBF16: return write_element(base, index, bf16_of_float(float_to_narrow(value)));
    case DType::kI8: return write_element(base, index, static_cast<int8_t>(convert<int64_t>(value)));
    case DType::kI16: return write_element(base, index, static_cast<int16_t>(convert<int64_t>(value)));
    case DType::kI32: return write_element(base, index, static_cast<int32_t>(convert<int64_t>(value)));
    case DType::kI64: return write_element(base, index, convert<int64_t>(value));
    case DType::kU8: return write_element(base, index, static_cast<uint8_t>(convert<uint64_t>(value)));
    case DType::kU16: return write_element(base, index, static_cast<uint16_t>(convert<uint64_t>(value)));
    case DType::kU32: return write_element(base, index, static_cast<uint32_t>(convert<uint64_t>(value)));
    case DType::kU64: return write_element(base, index, convert<uint64_t>(value));
    case DType::kBool: return write_element(base, index, static_cast<uint8_t>(value != T(0)));
    default: break;
  }
  if (is_minifloat(type)) return write_element(base, index, minifloat_of_float(type, float_to_narrow(value)));
  write_element(base, index, wrap_sub_byte(type, convert<int64_t>(value)));
}

template <typename T>
T load(const TensorView& view, int64_t offset) {
  return load<T>(view.dtype, view.data, offset);
}
template <typename T>
void store(const TensorView& view, int64_t offset, T value) {
  store(view.dtype, view.data, offset, value);
}

// Copies one element of 1, 2, 4 or 8 bytes.
inline void copy_element(size_t size, const void* from, int64_t from_index, void* to, int64_t to_index) {
  switch (size) {
    case 1: return write_element(to, to_index, read_element<uint8_t>(from, from_index));
    case 2: return write_element(to, to_index, read_element<uint16_t>(from, from_index));
    case 4: return write_element(to, to_index, read_element<uint32_t>(from, from_index));
    case 8: return write_element(to, to_index, read_element<uint64_t>(from, from_index));
  }
}

// Arithmetic that wraps for integers, as ONNX's operators do on every machine.
template <typename T>
T add(T a, T b) {
  if constexpr (kIsFloating<T>) return a + b;
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
T subtract(T a, T b) {
  if constexpr (kIsFloating<T>) return a - b;
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (kIsFloating<T>) return a * b;
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Calls body(T{}) where T is the type in which a reference kernel accumulates elements of `type`: double for every
// float (it is the oracle: it rounds once, at the end), int64_t or uint64_t.
template <typename Body>
void with_accumulator(DType type, const Body& body) {
  switch (class_of(type)) {
    case PwClass::kFloat:
    case PwClass::kDouble: return body(double{});
    case PwClass::kInt: return body(int64_t{});
    case PwClass::kUint: return body(uint64_t{});
  }
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_ELEMENT_H_
