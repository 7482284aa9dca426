// Bytes that are read once, from front to back: a file's, or those of a file inside an archive.
#ifndef PLANWRIGHT_CALIBRATOR_ARRAYS_BYTE_STREAM_H_
#define PLANWRIGHT_CALIBRATOR_ARRAYS_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

namespace planwright::arrays {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // How many there are in all, read or not.
  virtual uint64_t size() const = 0;
  // The next ones; never more than are left. Throws Error: kIo, kInvalid where an archive is damaged.
  virtual void read(void* to, size_t bytes) = 0;
};

// A regular file with the words for its failures, all of which are Error(kIo).
class File {
 public:
  explicit File(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  void seek(uint64_t offset);
  void read(void* to, size_t bytes);

 private:
  std::string path_;
  std::ifstream stream_;
  uint64_t size_ = 0;
};

// All of a file.
std::unique_ptr<ByteStream> open_file(const std::string& path);

}  // namespace planwright::arrays

#endif  // PLANWRIGHT_CALIBRATOR_ARRAYS_BYTE_STREAM_H_
