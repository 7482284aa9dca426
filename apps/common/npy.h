// NumPy's array files: .npy, and .npz archives of them.
#ifndef PLANWRIGHT_APPS_COMMON_NPY_H_
#define PLANWRIGHT_APPS_COMMON_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "builder/ir/interpret.h"

namespace planwright::apps {

// Reads a .npy file: C order, little-endian, a type Planwright has; what NumPy has no type for comes as uint8 or uint16.
// Throws Error: kIo, kInvalid, kUnsupported.
ir::Tensor read_npy(const std::string& path);

// Whether an array of a type that NumPy has may stand for a tensor of one that it has not: the same bits.
bool holds_bits_of(DType array, DType type);

// The bytes of a .npy file of the tensor. What NumPy has no type for is written as it lies in memory: bfloat16 and
// minifloats as their bits, integers of less than a byte as int8 or uint8.
std::string format_npy(const ir::Tensor& tensor);

// Writes arrays by name as an .npz archive (stored, not compressed), at once or not at all. Throws Error(kIo), and
// kUnsupported past 4 GiB.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, ir::Tensor>>& arrays);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_NPY_H_
