#include "planfmt/atomic_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

namespace planwright::planfmt {
namespace {

// Linux writes at most 2 GiB less a page at once; a smaller piece also lets a signal be noticed between two.
constexpr size_t kPiece = size_t{64} << 20;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What a symbolic link points to; `path` itself where it is none, or points to nothing yet.
std::string target_of(const std::string& path) {
  struct FreeDeleter {
    void operator()(char* text) const { free(text); }
  };
  const std::unique_ptr<char, FreeDeleter> resolved(realpath(path.c_str(), nullptr));
  return resolved == nullptr ? path : resolved.get();
}

// Unique among the processes and threads that write beside each other.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
}

}  // namespace

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    close(fd_);
    unlink(temporary_.c_str());
  }
}

Status AtomicFile::fail(const char* what) {
  return error(StatusCode::kIo, "%s: %s: %s", path_.c_str(), what, strerror(errno));
}

Status AtomicFile::create(const std::string& path) {
  path_ = target_of(path);
  struct stat existing;
  if (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    return error(StatusCode::kIo, "%s: is %s, not a file that can be replaced; give the name of a file", path.c_str(),
                 S_ISDIR(existing.st_mode) ? "a folder" : "a device, socket or pipe");
  }
  temporary_ = temporary_name(path_);
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd_ < 0 ? fail("cannot be written") : kOkStatus;
}

Status AtomicFile::write(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_, bytes, std::min(size, kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail("cannot be written");
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return kOkStatus;
}

Status AtomicFile::commit() {
  if (fsync(fd_) != 0) return fail("cannot be synced to disk");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return fail("cannot be renamed into place");
  // From here on the new file is in place; the folder's sync only makes the rename survive a power cut, and some file
  // systems refuse it.
  close(std::exchange(fd_, -1));
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return kOkStatus;
}

}  // namespace planwright::planfmt
