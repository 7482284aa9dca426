// NumPy's array files.
#ifndef PLANWRIGHT_CALIBRATOR_ARRAYS_NPY_H_
#define PLANWRIGHT_CALIBRATOR_ARRAYS_NPY_H_

#include <memory>
#include <string>
#include <vector>

#include "builder/ir/interpret.h"
#include "calibrator/arrays/byte_stream.h"

namespace planwright::arrays {

// A .npy file, little-endian, of a type Planwright has; what NumPy has no type for comes as uint8 or uint16. It is read
// piece by piece, so that an array may be larger than memory, unless it is in Fortran order.
class ArrayReader {
 public:
  // Reads the header. `title` is what messages call the array. Throws Error: kIo, kInvalid, kUnsupported.
  ArrayReader(std::unique_ptr<ByteStream> bytes, std::string title);

  const std::string& title() const { return title_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }

  // The next `rows` along the first axis, which has that many left; of an array with axes. Throws Error: kIo, kInvalid.
  ir::Tensor read_rows(int64_t rows);
  // The whole array, where nothing was read of it yet.
  ir::Tensor read_all();

 private:
  [[noreturn]] void refuse(const char* why) const;
  DType parse_type(const std::string& header) const;
  std::vector<int64_t> parse_shape(const std::string& header) const;
  void read_data(ir::Tensor* tensor);

  std::unique_ptr<ByteStream> bytes_;
  std::string title_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> dims_;
  bool is_fortran_ = false;
  ir::Tensor turned_;       // in row-major order, all of an array in Fortran order
  size_t turned_read_ = 0;  // bytes of it
};

// Reads a .npy file whole. Throws Error: kIo, kInvalid, kUnsupported.
ir::Tensor read_npy(const std::string& path);

// Whether an array of a type that NumPy has may stand for a tensor of one that it has not: the same bits.
bool holds_bits_of(DType array, DType type);

// The bytes of a .npy file of the tensor. What NumPy has no type for is written as it lies in memory: bfloat16 and
// minifloats as their bits, integers of less than a byte as int8 or uint8.
std::string format_npy(const ir::Tensor& tensor);

}  // namespace planwright::arrays

#endif  // PLANWRIGHT_CALIBRATOR_ARRAYS_NPY_H_
