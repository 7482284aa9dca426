// NumPy's archives of arrays by name: ZIP files of .npy files.
#ifndef PLANWRIGHT_CALIBRATOR_ARRAYS_NPZ_H_
#define PLANWRIGHT_CALIBRATOR_ARRAYS_NPZ_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibrator/arrays/npy.h"

namespace planwright::arrays {

// An archive as numpy.savez or numpy.savez_compressed writes it. Each array's bytes are checked against its CRC when
// the last of them is read.
class NpzArchive {
 public:
  // Reads the directory. Throws Error: kIo, kInvalid, kUnsupported.
  explicit NpzArchive(const std::string& path);

  bool has(const std::string& array) const { return members_.count(array) != 0; }
  // Sorted.
  std::vector<std::string> names() const;
  // An array that it has. Readers are independent of one another and of this object. Throws Error as ArrayReader does.
  ArrayReader open(const std::string& array) const;

  // A file of the archive, as the directory describes it.
  struct Member {
    uint64_t offset = 0;  // of its local header
    uint64_t stored_size = 0, size = 0;
    uint32_t crc = 0;
    uint16_t method = 0, flags = 0;
  };

 private:
  std::string path_;
  std::map<std::string, Member> members_;  // by the array's name
};

// The bytes of an archive of arrays by name (stored, not compressed). Throws Error(kUnsupported) past 4 GiB.
std::string format_npz(const std::vector<std::pair<std::string, ir::Tensor>>& arrays);

}  // namespace planwright::arrays

#endif  // PLANWRIGHT_CALIBRATOR_ARRAYS_NPZ_H_
