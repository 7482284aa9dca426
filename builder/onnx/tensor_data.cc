#include "builder/onnx/tensor_data.h"

#include <fmt/format.h>

#include <cstring>

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
  for (const int64_t dim : proto.dims()) {
    if (dim < 0) throw Error(StatusCode::kInvalid, fmt::format("{} has the negative dimension {}", what, dim));
    if (!checked_mul(count, static_cast<uint64_t>(dim), &count) || count > (uint64_t{1} << 60)) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: the product of its dimensions overflows", what));
    }
  }
  return count;
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
    case DType::kU8: return copy_field<uint8_t>(proto.int32_data(), data);
    case DType::kBool: break;
  }
  for (int i = 0; i < proto.int32_data_size(); ++i) data[static_cast<size_t>(i)] = std::byte{proto.int32_data(i) != 0};
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
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("{} has elements of {}, which is not supported", what, onnx_type_name(proto.data_type())));
  }
  return count_elements(proto, what) * size_of(*dtype);
}

void check_tensor(const onnx::TensorProto& proto, const std::string& what) {
  const uint64_t count = count_elements(proto, what);
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) return;
  const uint64_t bytes = count * size_of(*dtype);
  const uint64_t given = proto.has_raw_data()
                             ? proto.raw_data().size()
                             : static_cast<uint64_t>(typed_field_size(proto, *dtype)) * size_of(*dtype);
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
  if (proto.has_raw_data()) {
    if (bytes > 0) std::memcpy(tensor.data.data(), proto.raw_data().data(), bytes);
  } else {
    copy_typed(proto, *dtype, tensor.data);
  }
  return tensor;
}

}  // namespace planwright::builder
