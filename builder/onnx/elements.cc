#include "builder/onnx/elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "schemas/types/minifloat.h"

namespace planwright::builder::importer {
namespace {

template <typename T>
ir::Bytes bytes_of(T value) {
  ir::Bytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Integers of floats saturate.
template <typename To, typename T>
To converted(T element) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<T>) {
    return saturated(static_cast<double>(element));
  } else {
    return static_cast<To>(element);
  }
}

template <typename T, typename To>
void read_as(const ir::Bytes& bytes, std::vector<To>& out) {
  for (size_t offset = 0; offset + sizeof(T) <= bytes.size(); offset += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + offset, sizeof(T));
    out.push_back(converted<To>(element));
  }
}

template <typename To>
std::vector<To> read(const ir::Value& constant) {
  std::vector<To> out;
  const ir::Bytes& bytes = *constant.constant;
  out.reserve(bytes.size() / size_of(constant.dtype));
  switch (constant.dtype) {
    case DType::kF32: read_as<float>(bytes, out); break;
    case DType::kF64: read_as<double>(bytes, out); break;
    case DType::kI8: read_as<int8_t>(bytes, out); break;
    case DType::kI16: read_as<int16_t>(bytes, out); break;
    case DType::kI32: read_as<int32_t>(bytes, out); break;
    case DType::kI64: read_as<int64_t>(bytes, out); break;
    case DType::kU8:
    case DType::kBool: read_as<uint8_t>(bytes, out); break;
    case DType::kU16: read_as<uint16_t>(bytes, out); break;
    case DType::kU32: read_as<uint32_t>(bytes, out); break;
    case DType::kU64: read_as<uint64_t>(bytes, out); break;
    case DType::kF16:
    case DType::kBF16: {
      std::vector<uint16_t> bits;
      read_as<uint16_t>(bytes, bits);
      for (const uint16_t half : bits) {
        out.push_back(converted<To>(constant.dtype == DType::kF16 ? float_of_f16(half) : float_of_bf16(half)));
      }
      break;
    }
    default:
      for (const std::byte byte : bytes) {
        out.push_back(converted<To>(value_of_byte(constant.dtype, std::to_integer<uint8_t>(byte))));
      }
  }
  return out;
}

}  // namespace

int64_t saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

ir::Bytes element_bytes(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32: return bytes_of(static_cast<float>(value));
    case DType::kF64: return bytes_of(value);
    case DType::kF16: return bytes_of(f16_of_float(static_cast<float>(value)));
    case DType::kBF16: return bytes_of(bf16_of_float(static_cast<float>(value)));
    case DType::kBool: return bytes_of(static_cast<uint8_t>(value != 0));
    default:
      if (is_minifloat(dtype)) return bytes_of(minifloat_of_float(dtype, static_cast<float>(value)));
      return element_bytes_int(dtype, saturated(value));
  }
}

ir::Bytes element_bytes_int(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI8:
    case DType::kU8: return bytes_of(static_cast<uint8_t>(value));
    case DType::kI16:
    case DType::kU16: return bytes_of(static_cast<uint16_t>(value));
    case DType::kI32:
    case DType::kU32: return bytes_of(static_cast<uint32_t>(value));
    case DType::kI64:
    case DType::kU64: return bytes_of(value);
    case DType::kBool: return bytes_of(static_cast<uint8_t>(value != 0));
    default:
      if (is_sub_byte_int(dtype)) return bytes_of(wrap_sub_byte(dtype, value));
      return element_bytes(dtype, static_cast<double>(value));
  }
}

std::vector<int64_t> read_ints(const ir::Value& constant) { return read<int64_t>(constant); }

std::vector<double> read_doubles(const ir::Value& constant) { return read<double>(constant); }

void attach_elements(ir::Value& value) {
  if (is_float(value.dtype) || value.dtype == DType::kU64) return;
  if (value.constant->size() > static_cast<size_t>(kMaxElements) * size_of(value.dtype)) return;
  ir::Shape elements;
  for (const int64_t element : read_ints(value)) elements.emplace_back(element);
  value.elements = std::move(elements);
}

}  // namespace planwright::builder::importer
