#include "builder/onnx/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/onnx/shape_check.h"
#include "builder/onnx/type_advice.h"
#include "onnx/onnx_pb.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

// How many elements the dims make; throws where they cannot be.
uint64_t count_elements(const onnx::TensorProto& proto, const std::string& what) {
  if (proto.dims_size() > kMaxRank) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{} has {} dimensions; the most is {}", what, proto.dims_size(), kMaxRank));
  }
  uint64_t count = 1;
  bool is_empty = false;
  for (const int64_t dim : proto.dims()) {
    if (dim < 0) throw Error(StatusCode::kInvalid, fmt::format("{} has the negative dimension {}", what, dim));
    is_empty = is_empty || dim == 0;
    const auto length = static_cast<uint64_t>(std::max<int64_t>(dim, 1));
    if (dim > kMaxDim || !checked_mul(count, length, &count) || count > static_cast<uint64_t>(kMaxCount)) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: the product of its dimensions overflows", what));
    }
  }
  return is_empty ? 0 : count;
}

// ONNX packs the elements of such types as one stream of bits, low bits first: two to a byte, or four, or four to
// three.
bool is_packed(DType dtype) { return bit_width(dtype) < 8; }

// `count` elements are at most 2^60, so neither overflows.
uint64_t memory_bytes(uint64_t count, DType dtype) { return count * size_of(dtype); }
uint64_t packed_bytes(uint64_t count, DType dtype) {
  if (!is_packed(dtype)) return memory_bytes(count, dtype);
  const auto width = static_cast<uint64_t>(bit_width(dtype));
  return count / 4 * (width / 2) + (count % 4 * width + 7) / 8;
}

// `byte_at(i)` is byte i of the packed stream.
template <typename ByteAt>
void unpack(DType dtype, const ByteAt& byte_at, ir::Bytes& data) {
  const auto width = static_cast<size_t>(bit_width(dtype));
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t first = i * width / 8, last = (i * width + width - 1) / 8;
    const uint32_t low = byte_at(first), high = last > first ? byte_at(last) : 0;
    data[i] = std::byte{byte_of_bits(dtype, (low | high << 8) >> (i * width % 8))};
  }
}

// Copies a repeated field whose entries hold elements of a narrower or equal type T.
template <typename T, typename Field>
void copy_field(const Field& field, ir::Bytes& data) {
  for (int i = 0; i < field.size(); ++i) {
    const T element = static_cast<T>(field.Get(i));
    std::memcpy(data.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
  }
}

// ONNX keeps every type in one of five repeated fields (onnx.proto, TensorProto).
int typed_field_size(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kF32: return proto.float_data_size();
    case DType::kF64: return proto.double_data_size();
    case DType::kI64: return proto.int64_data_size();
    case DType::kU32:
    case DType::kU64: return proto.uint64_data_size();
    default: return proto.int32_data_size();
  }
}

void copy_typed(const onnx::TensorProto& proto, DType dtype, ir::Bytes& data) {
  switch (dtype) {
    case DType::kF32: return copy_field<float>(proto.float_data(), data);
    case DType::kF64: return copy_field<double>(proto.double_data(), data);
    case DType::kI64: return copy_field<int64_t>(proto.int64_data(), data);
    case DType::kU64: return copy_field<uint64_t>(proto.uint64_data(), data);
    case DType::kU32: return copy_field<uint32_t>(proto.uint64_data(), data);
    case DType::kI32: return copy_field<int32_t>(proto.int32_data(), data);
    case DType::kI16: return copy_field<int16_t>(proto.int32_data(), data);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return copy_field<uint16_t>(proto.int32_data(), data);
    case DType::kI8: return copy_field<int8_t>(proto.int32_data(), data);
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0: return copy_field<uint8_t>(proto.int32_data(), data);
    case DType::kF6E2M3:
    case DType::kF6E3M2:  // packed only as raw data
      for (size_t i = 0; i < data.size(); ++i) {
        data[i] = std::byte{byte_of_bits(dtype, static_cast<uint32_t>(proto.int32_data(static_cast<int>(i))))};
      }
      return;
    case DType::kF4E2M1:
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
      return unpack(
          dtype, [&](size_t i) { return static_cast<uint32_t>(proto.int32_data(static_cast<int>(i))) & 0xFFu; }, data);
    case DType::kBool: break;
  }
  for (int i = 0; i < proto.int32_data_size(); ++i) data[static_cast<size_t>(i)] = std::byte{proto.int32_data(i) != 0};
}

DType supported_type(const onnx::TensorProto& proto, const std::string& what) {
  if (const std::optional<DType> dtype = dtype_of_onnx(proto.data_type())) return *dtype;
  throw Error(StatusCode::kUnsupported,
              fmt::format("{} has elements of {}, which is not supported{}", what, onnx_type_name(proto.data_type()),
                          advice_on_type(proto.data_type())));
}

}  // namespace

std::optional<DType> dtype_of_onnx(int32_t data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT: return DType::kF32;
    case onnx::TensorProto::DOUBLE: return DType::kF64;
    case onnx::TensorProto::FLOAT16: return DType::kF16;
    case onnx::TensorProto::BFLOAT16: return DType::kBF16;
    case onnx::TensorProto::INT8: return DType::kI8;
    case onnx::TensorProto::INT16: return DType::kI16;
    case onnx::TensorProto::INT32: return DType::kI32;
    case onnx::TensorProto::INT64: return DType::kI64;
    case onnx::TensorProto::UINT8: return DType::kU8;
    case onnx::TensorProto::UINT16: return DType::kU16;
    case onnx::TensorProto::UINT32: return DType::kU32;
    case onnx::TensorProto::UINT64: return DType::kU64;
    case onnx::TensorProto::BOOL: return DType::kBool;
    case onnx::TensorProto::FLOAT8E4M3FN: return DType::kF8E4M3FN;
    case onnx::TensorProto::FLOAT8E4M3FNUZ: return DType::kF8E4M3FNUZ;
    case onnx::TensorProto::FLOAT8E5M2: return DType::kF8E5M2;
    case onnx::TensorProto::FLOAT8E5M2FNUZ: return DType::kF8E5M2FNUZ;
    case onnx::TensorProto::FLOAT8E8M0: return DType::kF8E8M0;
    case onnx::TensorProto::FLOAT6E2M3: return DType::kF6E2M3;
    case onnx::TensorProto::FLOAT6E3M2: return DType::kF6E3M2;
    case onnx::TensorProto::FLOAT4E2M1: return DType::kF4E2M1;
    case onnx::TensorProto::INT4: return DType::kI4;
    case onnx::TensorProto::UINT4: return DType::kU4;
    case onnx::TensorProto::INT2: return DType::kI2;
    case onnx::TensorProto::UINT2: return DType::kU2;
    default: return std::nullopt;
  }
}

int32_t onnx_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return onnx::TensorProto::FLOAT;
    case DType::kF64: return onnx::TensorProto::DOUBLE;
    case DType::kF16: return onnx::TensorProto::FLOAT16;
    case DType::kBF16: return onnx::TensorProto::BFLOAT16;
    case DType::kI8: return onnx::TensorProto::INT8;
    case DType::kI16: return onnx::TensorProto::INT16;
    case DType::kI32: return onnx::TensorProto::INT32;
    case DType::kI64: return onnx::TensorProto::INT64;
    case DType::kU8: return onnx::TensorProto::UINT8;
    case DType::kU16: return onnx::TensorProto::UINT16;
    case DType::kU32: return onnx::TensorProto::UINT32;
    case DType::kU64: return onnx::TensorProto::UINT64;
    case DType::kBool: return onnx::TensorProto::BOOL;
    case DType::kF8E4M3FN: return onnx::TensorProto::FLOAT8E4M3FN;
    case DType::kF8E4M3FNUZ: return onnx::TensorProto::FLOAT8E4M3FNUZ;
    case DType::kF8E5M2: return onnx::TensorProto::FLOAT8E5M2;
    case DType::kF8E5M2FNUZ: return onnx::TensorProto::FLOAT8E5M2FNUZ;
    case DType::kF8E8M0: return onnx::TensorProto::FLOAT8E8M0;
    case DType::kF6E2M3: return onnx::TensorProto::FLOAT6E2M3;
    case DType::kF6E3M2: return onnx::TensorProto::FLOAT6E3M2;
    case DType::kF4E2M1: return onnx::TensorProto::FLOAT4E2M1;
    case DType::kI4: return onnx::TensorProto::INT4;
    case DType::kU4: return onnx::TensorProto::UINT4;
    case DType::kI2: return onnx::TensorProto::INT2;
    case DType::kU2: return onnx::TensorProto::UINT2;
  }
  return onnx::TensorProto::UNDEFINED;
}

std::string onnx_type_name(int32_t data_type) {
  if (!onnx::TensorProto_DataType_IsValid(data_type)) return fmt::format("type {}", data_type);
  std::string name = onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

uint64_t tensor_bytes(const onnx::TensorProto& proto, const std::string& what) {
  return memory_bytes(count_elements(proto, what), supported_type(proto, what));
}

uint64_t raw_bytes(const onnx::TensorProto& proto, const std::string& what) {
  return packed_bytes(count_elements(proto, what), supported_type(proto, what));
}

void check_tensor(const onnx::TensorProto& proto, const std::string& what) {
  const uint64_t count = count_elements(proto, what);
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) return;
  if (proto.has_raw_data() && typed_field_size(proto, *dtype) > 0) {
    throw Error(StatusCode::kInvalid, fmt::format("{} holds its elements twice, as raw_data and as numbers", what));
  }
  uint64_t bytes = packed_bytes(count, *dtype), given = proto.raw_data().size();
  if (!proto.has_raw_data()) {
    given = static_cast<uint64_t>(typed_field_size(proto, *dtype)) * size_of(*dtype);
    if (bit_width(*dtype) == 6) bytes = count;  // an entry for each
  }
  if (given != bytes) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{} holds {} bytes where its dimensions and type make {}", what, given, bytes));
  }
}

ir::Tensor read_tensor(const onnx::TensorProto& proto, const std::string& what) {
  const uint64_t bytes = tensor_bytes(proto, what);
  check_tensor(proto, what);
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  ir::Tensor tensor;
  tensor.dtype = *dtype;
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  tensor.data.resize(bytes);
  if (proto.has_raw_data() && is_packed(*dtype)) {
    unpack(
        *dtype, [&](size_t i) { return uint32_t{static_cast<uint8_t>(proto.raw_data()[i])}; }, tensor.data);
  } else if (proto.has_raw_data()) {
    if (bytes > 0) std::memcpy(tensor.data.data(), proto.raw_data().data(), bytes);
  } else {
    copy_typed(proto, *dtype, tensor.data);
  }
  return tensor;
}

std::string raw_data_of(DType dtype, const std::string& elements) {
  if (!is_packed(dtype)) return elements;
  const auto width = static_cast<size_t>(bit_width(dtype));
  std::string packed(packed_bytes(elements.size(), dtype), '\0');
  for (size_t bit = 0; bit < elements.size() * width; ++bit) {
    const int set = static_cast<uint8_t>(elements[bit / width]) >> bit % width & 1;
    packed[bit / 8] = static_cast<char>(packed[bit / 8] | set << bit % 8);
  }
  return packed;
}

bool holds_nan(const onnx::TensorProto& proto) {
  if (proto.data_type() != onnx::TensorProto::FLOAT) return false;
  if (!proto.has_raw_data()) {
    return std::any_of(proto.float_data().begin(), proto.float_data().end(), [](float x) { return std::isnan(x); });
  }
  const std::string& bytes = proto.raw_data();
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    if (std::isnan(element)) return true;
  }
  return false;
}

}  // namespace planwright::builder
