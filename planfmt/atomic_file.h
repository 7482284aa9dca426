// Replacing a file so that it is whole at every moment, the old one or the new one, whatever fails (FAULTS B22, B23).
#ifndef PLANWRIGHT_PLANFMT_ATOMIC_FILE_H_
#define PLANWRIGHT_PLANFMT_ATOMIC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "schemas/types/status.h"

namespace planwright::planfmt {

// Writes to a temporary name beside the file. Every failure is kIo with the path and the system's reason; the file is
// then as it was, and the temporary goes with this object at the latest.
class AtomicFile {
 public:
  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Makes the temporary. A `path` that is a symbolic link stands for what it points to. Fails where `path` exists and
  // is no regular file (a folder, a device), or its folder is absent or not writable.
  Status create(const std::string& path);
  // Appends.
  Status write(const void* data, size_t size);
  const std::string& temporary() const { return temporary_; }
  // Syncs the temporary, renames it over `path`, syncs the folder. The object is then done.
  Status commit();

 private:
  Status fail(const char* what);

  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_ATOMIC_FILE_H_
