#include "calibrator/arrays/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::arrays {
namespace {

struct TypeName {
  DType dtype;
  const char* descr;
};
constexpr TypeName kTypes[] = {
    {DType::kF32, "<f4"}, {DType::kF64, "<f8"}, {DType::kF16, "<f2"}, {DType::kI8, "|i1"},
    {DType::kI16, "<i2"}, {DType::kI32, "<i4"}, {DType::kI64, "<i8"}, {DType::kU8, "|u1"},
    {DType::kU16, "<u2"}, {DType::kU32, "<u4"}, {DType::kU64, "<u8"}, {DType::kBool, "|b1"},
};

// Types that NumPy has from extensions (ml_dtypes) only: their files name no more than their size.
constexpr TypeName kBits[] = {
    {DType::kU8, "|V1"}, {DType::kU8, "<V1"}, {DType::kU8, "<f1"}, {DType::kU16, "|V2"}, {DType::kU16, "<V2"}};

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

// Headers have a few hundred bytes; one of more is none of an array that Planwright could take.
constexpr uint32_t kMostHeaderBytes = 1 << 20;

// What stands behind `key` in a header, which is a Python dictionary; nothing where it is not there.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

// Elements whose first index moves fastest, to where the last one does.
void copy_from_fortran_order(const char* from, ir::Tensor* tensor) {
  const size_t rank = tensor->dims.size(), size = size_of(tensor->dtype);
  if (rank == 0) return std::memcpy(tensor->data.data(), from, size), void();
  std::vector<size_t> strides(rank, size);
  for (size_t axis = 1; axis < rank; ++axis) {
    strides[axis] = strides[axis - 1] * static_cast<size_t>(tensor->dims[axis - 1]);
  }
  std::vector<int64_t> at(rank, 0);
  size_t source = 0;
  for (size_t to = 0; to < tensor->data.size(); to += size) {
    std::memcpy(tensor->data.data() + to, from + source, size);
    for (size_t axis = rank; axis-- > 0;) {
      source += strides[axis];
      if (++at[axis] < tensor->dims[axis]) break;
      source -= strides[axis] * static_cast<size_t>(at[axis]);
      at[axis] = 0;
    }
  }
}

// NumPy has types for the rest alone.
DType stored_type(DType type) {
  if (type == DType::kBF16) return DType::kU16;
  if (is_minifloat(type)) return DType::kU8;
  if (is_sub_byte_int(type)) return is_unsigned(type) ? DType::kU8 : DType::kI8;
  return type;
}

}  // namespace

bool holds_bits_of(DType array, DType type) {
  if (type == DType::kBF16) return array == DType::kU16;
  return (is_minifloat(type) || is_sub_byte_int(type)) && (array == DType::kU8 || array == DType::kI8);
}

ArrayReader::ArrayReader(std::unique_ptr<ByteStream> bytes, std::string title)
    : bytes_(std::move(bytes)), title_(std::move(title)) {
  char start[kMagicBytes + 2];
  if (bytes_->size() < sizeof start + 2) refuse("is no .npy file");
  bytes_->read(start, sizeof start);
  if (std::memcmp(start, kMagic, kMagicBytes) != 0) refuse("is no .npy file");
  const size_t length_bytes = start[kMagicBytes] >= 2 ? 4 : 2;  // by its version
  uint32_t length = 0;
  if (bytes_->size() < sizeof start + length_bytes) refuse("its .npy header is cut short");
  bytes_->read(&length, length_bytes);
  const uint64_t before = sizeof start + length_bytes;
  if (!in_range(before, length, bytes_->size())) refuse("its .npy header is cut short");
  if (length > kMostHeaderBytes) refuse("its .npy header is longer than any that NumPy writes");
  std::string header(length, '\0');
  bytes_->read(header.data(), length);
  dtype_ = parse_type(header);
  dims_ = parse_shape(header);
  is_fortran_ = value_of(header, "'fortran_order':").starts_with("True");
  uint64_t data = size_of(dtype_);
  for (const int64_t dim : dims_) {
    if (!checked_mul(data, static_cast<uint64_t>(dim), &data)) refuse("the product of its dims overflows");
  }
  if (bytes_->size() - before - length != data) refuse("its size is not what its dims and type make");
}

void ArrayReader::refuse(const char* why) const {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", title_, why));
}

DType ArrayReader::parse_type(const std::string& header) const {
  const std::string_view value = value_of(header, "'descr':");
  const size_t end = value.find('\'', 1);
  if (!value.starts_with('\'') || end == std::string_view::npos) refuse("its .npy header has no type");
  const std::string_view descr = value.substr(1, end - 1);
  for (const TypeName& type : kTypes) {
    if (descr == type.descr) return type.dtype;
  }
  for (const TypeName& type : kBits) {
    if (descr == type.descr) return type.dtype;
  }
  throw Error(StatusCode::kUnsupported, fmt::format("{}: elements of type '{}' are not supported", title_, descr));
}

std::vector<int64_t> ArrayReader::parse_shape(const std::string& header) const {
  const std::string_view value = value_of(header, "'shape':");
  const size_t close = value.find(')');
  if (!value.starts_with('(') || close == std::string_view::npos) refuse("its .npy header has no shape");
  std::string_view list = value.substr(1, close - 1);
  std::vector<int64_t> dims;
  for (;;) {
    list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
    if (list.empty()) return dims;
    int64_t dim = 0;
    const auto [end, problem] = std::from_chars(list.data(), list.data() + list.size(), dim);
    if (problem != std::errc() || dim < 0) refuse("its .npy header has no shape");
    dims.push_back(dim);
    list.remove_prefix(static_cast<size_t>(end - list.data()));
    if (list.empty()) return dims;
    if (list.front() != ',') refuse("its .npy header has no shape");
    list.remove_prefix(1);
  }
}

// Fills a tensor whose dims are a part of the array's.
void ArrayReader::read_data(ir::Tensor* tensor) {
  uint64_t bytes = size_of(dtype_);
  for (const int64_t dim : tensor->dims) bytes *= static_cast<uint64_t>(dim);
  tensor->data.resize(bytes);
  if (bytes > 0) bytes_->read(tensor->data.data(), bytes);
}

ir::Tensor ArrayReader::read_rows(int64_t rows) {
  ir::Tensor part{dtype_, dims_, {}};
  part.dims[0] = rows;
  if (!is_fortran_) {
    read_data(&part);
    return part;
  }
  if (turned_.dims.empty()) turned_ = read_all();
  size_t bytes = size_of(dtype_);
  for (const int64_t dim : part.dims) bytes *= static_cast<size_t>(dim);
  const auto from = turned_.data.begin() + static_cast<ptrdiff_t>(turned_read_);
  part.data.assign(from, from + static_cast<ptrdiff_t>(bytes));
  turned_read_ += bytes;
  return part;
}

ir::Tensor ArrayReader::read_all() {
  ir::Tensor tensor{dtype_, dims_, {}};
  read_data(&tensor);
  if (!is_fortran_ || tensor.data.empty()) return tensor;
  const ir::Bytes stored = std::exchange(tensor.data, ir::Bytes(tensor.data.size()));
  copy_from_fortran_order(reinterpret_cast<const char*>(stored.data()), &tensor);
  return tensor;
}

ir::Tensor read_npy(const std::string& path) { return ArrayReader(open_file(path), path).read_all(); }

std::string format_npy(const ir::Tensor& tensor) {
  const DType stored = stored_type(tensor.dtype);
  const char* descr = "";
  for (const TypeName& type : kTypes) {
    if (type.dtype == stored) descr = type.descr;
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(tensor.dims, ", "), tensor.dims.size() == 1 ? "," : "");
  // The data begin at a multiple of 64 bytes, the header ends in a newline.
  const size_t before = kMagicBytes + 4;
  header.append(align_up(before + header.size() + 1, 64) - before - header.size() - 1, ' ');
  header += '\n';
  std::string file(kMagic, kMagicBytes);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return file;
}

}  // namespace planwright::arrays
