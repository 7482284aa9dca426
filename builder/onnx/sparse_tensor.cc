#include "builder/onnx/sparse_tensor.h"

#include <fmt/format.h>

#include <cstring>

#include "builder/onnx/tensor_data.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

constexpr uint64_t kMaxDenseBytes = uint64_t{1} << 30;

[[noreturn]] void invalid(const std::string& what, const std::string& why) {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", what, why));
}

}  // namespace

onnx::TensorProto dense_of(const onnx::SparseTensorProto& sparse, const std::string& what) {
  const ir::Tensor values = read_tensor(sparse.values(), what);
  const ir::Tensor indices = read_tensor(sparse.indices(), what);
  const size_t element = size_of(values.dtype);
  const size_t count = values.data.size() / element;
  const auto rank = static_cast<size_t>(sparse.dims_size());

  onnx::TensorProto dense;
  dense.set_name(sparse.values().name());
  dense.set_data_type(sparse.values().data_type());
  *dense.mutable_dims() = sparse.dims();
  const uint64_t bytes = tensor_bytes(dense, what);
  if (bytes > kMaxDenseBytes)
    throw Error(StatusCode::kResource, fmt::format("{} has {} bytes when dense", what, bytes));

  // One number a value is its place in row-major order, `rank` numbers are its coordinates.
  const size_t numbers = indices.dims.size() == 2 ? rank : 1;
  if (indices.dtype != DType::kI64 || indices.data.size() != count * numbers * sizeof(int64_t) ||
      (indices.dims.size() == 2 && indices.dims[1] != static_cast<int64_t>(rank))) {
    invalid(what, fmt::format("its indices do not fit {} values in {} dimensions", count, rank));
  }
  std::string data(bytes, '\0');
  for (size_t i = 0; i < count; ++i) {
    uint64_t place = 0;
    for (size_t k = 0; k < numbers; ++k) {
      int64_t index = 0;
      std::memcpy(&index, indices.data.data() + (i * numbers + k) * sizeof(index), sizeof(index));
      const uint64_t limit = numbers == 1 && indices.dims.size() != 2
                                 ? bytes / element
                                 : static_cast<uint64_t>(sparse.dims(static_cast<int>(k)));
      if (index < 0 || static_cast<uint64_t>(index) >= limit)
        invalid(what, fmt::format("index {} is out of range", index));
      place = place * limit + static_cast<uint64_t>(index);
    }
    std::memcpy(data.data() + place * element, values.data.data() + i * element, element);
  }
  dense.set_raw_data(raw_data_of(values.dtype, data));
  return dense;
}

}  // namespace planwright::builder
