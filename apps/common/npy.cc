#include "apps/common/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::apps {
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

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw Error(StatusCode::kIo, fmt::format("cannot read {}", path));
  return std::move(text).str();
}

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", path, why));
}

DType parse_descr(const std::string& path, const std::string& header) {
  std::smatch found;
  if (!std::regex_search(header, found, std::regex("'descr': *'([^']*)'"))) refuse(path, "its .npy header has no type");
  for (const TypeName& type : kTypes) {
    if (found[1] == type.descr) return type.dtype;
  }
  for (const TypeName& type : kBits) {
    if (found[1] == type.descr) return type.dtype;
  }
  throw Error(StatusCode::kUnsupported,
              fmt::format("{}: elements of type '{}' are not supported", path, found[1].str()));
}

std::vector<int64_t> parse_shape(const std::string& path, const std::string& header) {
  std::smatch found;
  if (!std::regex_search(header, found, std::regex("'shape': *\\(([0-9, ]*)\\)")))
    refuse(path, "its .npy header has no shape");
  std::vector<int64_t> dims;
  std::istringstream list(found[1].str());
  for (int64_t dim; list >> dim;) {
    dims.push_back(dim);
    list.ignore(1, ',');
  }
  return dims;
}

// Elements whose first index moves fastest, to where the last one does.
void copy_from_fortran_order(const char* from, ir::Tensor* tensor) {
  const size_t rank = tensor->dims.size(), size = size_of(tensor->dtype);
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

ir::Tensor read_npy(const std::string& path) {
  const std::string file = read_file(path);
  if (file.size() < kMagicBytes + 4 || file.compare(0, kMagicBytes, kMagic) != 0) refuse(path, "is no .npy file");
  const bool wide = file[kMagicBytes] >= 2;  // version 2 has a four-byte header length
  const size_t start = kMagicBytes + 2 + (wide ? 4 : 2);
  uint32_t length = 0;
  if (file.size() < start) refuse(path, "its .npy header is cut short");
  std::memcpy(&length, file.data() + kMagicBytes + 2, wide ? 4 : 2);
  if (!in_range(start, length, file.size())) refuse(path, "its .npy header is cut short");
  const std::string header = file.substr(start, length);
  ir::Tensor tensor;
  tensor.dtype = parse_descr(path, header);
  tensor.dims = parse_shape(path, header);
  uint64_t bytes = size_of(tensor.dtype);
  for (const int64_t dim : tensor.dims) {
    if (!checked_mul(bytes, static_cast<uint64_t>(dim), &bytes)) refuse(path, "the product of its dims overflows");
  }
  if (file.size() - start - length != bytes) refuse(path, "its size is not what its dims and type make");
  tensor.data.resize(bytes);
  if (bytes == 0) return tensor;
  if (header.find("'fortran_order': True") != std::string::npos) {
    copy_from_fortran_order(file.data() + start + length, &tensor);
  } else {
    std::memcpy(tensor.data.data(), file.data() + start + length, bytes);
  }
  return tensor;
}

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

}  // namespace planwright::apps
