#include "calibrator/arrays/byte_stream.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "schemas/types/error.h"

namespace planwright::arrays {
namespace {

class WholeFile : public ByteStream {
 public:
  explicit WholeFile(const std::string& path) : file_(path) {}
  uint64_t size() const override { return file_.size(); }
  void read(void* to, size_t bytes) override { file_.read(to, bytes); }

 private:
  File file_;
};

}  // namespace

File::File(const std::string& path) : path_(path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(StatusCode::kIo, fmt::format("cannot read {}: it is {}, not a file", path,
                                             std::filesystem::is_directory(status) ? "a folder" : "a device or pipe"));
  }
  stream_.open(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream_ ? static_cast<std::streamoff>(stream_.tellg()) : -1;
  if (size < 0) throw Error(StatusCode::kIo, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  size_ = static_cast<uint64_t>(size);
  seek(0);
}

void File::seek(uint64_t offset) { stream_.seekg(static_cast<std::streamoff>(offset)); }

void File::read(void* to, size_t bytes) {
  stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!stream_)
    throw Error(StatusCode::kIo, fmt::format("cannot read {}: it ended or failed while it was read", path_));
}

std::unique_ptr<ByteStream> open_file(const std::string& path) { return std::make_unique<WholeFile>(path); }

}  // namespace planwright::arrays
