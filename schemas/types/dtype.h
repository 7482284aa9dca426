// Element types. The numbers are part of the engine file: only ever add to the end.
#ifndef PLANWRIGHT_SCHEMAS_TYPES_DTYPE_H_
#define PLANWRIGHT_SCHEMAS_TYPES_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace planwright {

enum class DType : uint8_t {
  kF32 = 0,
  kF64,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,  // one byte, 0 or 1

  // ---- Minifloats: a code in the low bits of one byte (minifloat.h). E: bits of the exponent, M: of the mantissa;
  // FN: no infinities, FNUZ: nor a zero with a sign. E8M0 is an exponent alone: a power of two.
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF6E2M3,
  kF6E3M2,
  kF4E2M1,

  // ---- Integers of less than a byte: the value as an int8 or uint8. Model files pack them, memory does not.
  kI4,
  kU4,
  kI2,
  kU2,
};

inline constexpr int kDTypeCount = 25;

// The most dimensions a tensor may have anywhere in Planwright (FAULTS B8).
inline constexpr int kMaxRank = 8;

constexpr bool is_valid(DType type) { return static_cast<int>(type) < kDTypeCount; }

// Bytes of one element; 0 for a value that is no DType.
constexpr size_t size_of(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64: return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF6E2M3:
    case DType::kF6E3M2:
    case DType::kF4E2M1:
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2: return 1;
  }
  return 0;
}

// Bits of one element that count: fewer than size_of says for types of less than a byte.
constexpr int bit_width(DType type) {
  switch (type) {
    case DType::kF6E2M3:
    case DType::kF6E3M2: return 6;
    case DType::kF4E2M1:
    case DType::kI4:
    case DType::kU4: return 4;
    case DType::kI2:
    case DType::kU2: return 2;
    default: return static_cast<int>(8 * size_of(type));
  }
}

constexpr const char* name_of(DType type) {
  switch (type) {
    case DType::kF32: return "fp32";
    case DType::kF64: return "fp64";
    case DType::kF16: return "fp16";
    case DType::kBF16: return "bf16";
    case DType::kI8: return "int8";
    case DType::kI16: return "int16";
    case DType::kI32: return "int32";
    case DType::kI64: return "int64";
    case DType::kU8: return "uint8";
    case DType::kU16: return "uint16";
    case DType::kU32: return "uint32";
    case DType::kU64: return "uint64";
    case DType::kBool: return "bool";
    case DType::kF8E4M3FN: return "fp8e4m3fn";
    case DType::kF8E4M3FNUZ: return "fp8e4m3fnuz";
    case DType::kF8E5M2: return "fp8e5m2";
    case DType::kF8E5M2FNUZ: return "fp8e5m2fnuz";
    case DType::kF8E8M0: return "fp8e8m0";
    case DType::kF6E2M3: return "fp6e2m3";
    case DType::kF6E3M2: return "fp6e3m2";
    case DType::kF4E2M1: return "fp4e2m1";
    case DType::kI4: return "int4";
    case DType::kU4: return "uint4";
    case DType::kI2: return "int2";
    case DType::kU2: return "uint2";
  }
  return "?";
}

constexpr bool is_minifloat(DType type) { return type >= DType::kF8E4M3FN && type <= DType::kF4E2M1; }

constexpr bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16 ||
         is_minifloat(type);
}

constexpr bool is_sub_byte_int(DType type) { return type >= DType::kI4 && type <= DType::kU2; }

constexpr bool is_unsigned(DType type) {
  return type == DType::kU8 || type == DType::kU16 || type == DType::kU32 || type == DType::kU64 ||
         type == DType::kBool || type == DType::kU4 || type == DType::kU2;
}

// The low bits of `value`, as an integer type of less than a byte holds them.
constexpr int8_t wrap_sub_byte(DType type, int64_t value) {
  const int spare = 8 - bit_width(type);
  const auto high = static_cast<uint8_t>(static_cast<uint64_t>(value) << spare);
  return static_cast<int8_t>(is_unsigned(type) ? high >> spare : static_cast<int8_t>(high) >> spare);
}

// The byte that holds an element of a type of one byte or less whose bits are the low ones of `bits`.
constexpr uint8_t byte_of_bits(DType type, uint32_t bits) {
  const auto low = static_cast<uint8_t>(bits & ((1u << bit_width(type)) - 1));
  if (type == DType::kBool) return low != 0;
  return is_sub_byte_int(type) ? static_cast<uint8_t>(wrap_sub_byte(type, low)) : low;
}

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_DTYPE_H_
