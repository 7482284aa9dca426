// NumPy's array files: .npy, and .npz archives of them.
#ifndef PLANWRIGHT_APPS_COMMON_NPY_H_
#define PLANWRIGHT_APPS_COMMON_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "builder/ir/interpret.h"

namespace planwright::apps {

// Reads a .npy file: C order, little-endian, a type Planwright has. Throws Error: kIo, kInvalid, kUnsupported.
ir::Tensor read_npy(const std::string& path);

// The bytes of a .npy file of the tensor. bfloat16 is written as its uint16 bits, which NumPy has no type for.
std::string format_npy(const ir::Tensor& tensor);

// Writes arrays by name as an .npz archive (stored, not compressed), at once or not at all. Throws Error(kIo), and
// kUnsupported past 4 GiB.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, ir::Tensor>>& arrays);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_NPY_H_
