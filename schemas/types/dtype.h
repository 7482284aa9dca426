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
};

inline constexpr int kDTypeCount = 13;

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
    case DType::kBool: return 1;
  }
  return 0;
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
  }
  return "?";
}

constexpr bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kF16 || type == DType::kBF16;
}

constexpr bool is_unsigned(DType type) {
  return type == DType::kU8 || type == DType::kU16 || type == DType::kU32 || type == DType::kU64 ||
         type == DType::kBool;
}

}  // namespace planwright

#endif  // PLANWRIGHT_SCHEMAS_TYPES_DTYPE_H_
