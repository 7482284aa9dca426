#include "builder/onnx/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "builder/onnx/tensor_data.h"
#include "schemas/types/checked.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Place {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

class ExternalReader {
 public:
  ExternalReader(onnx::TensorProto& tensor, const std::string& folder, std::vector<std::string>* warnings)
      : tensor_(tensor), folder_(folder), warnings_(warnings) {}

  void read() {
    const Place place = parse();
    const Descriptor file = open_file(place.location);
    struct stat info {};
    if (fstat(file.get(), &info) != 0) fail_io(place.location);
    const uint64_t bytes = size_wanted(place, static_cast<uint64_t>(info.st_size));
    std::string data(bytes, '\0');
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t got =
          pread(file.get(), data.data() + done, bytes - done, place.offset + static_cast<int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail_io(place.location);
      done += static_cast<uint64_t>(got);
    }
    tensor_.set_raw_data(std::move(data));
    tensor_.clear_external_data();
    tensor_.set_data_location(onnx::TensorProto::DEFAULT);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(StatusCode::kInvalid, fmt::format("external data of tensor '{}': {}", tensor_.name(), what));
  }
  [[noreturn]] void fail_io(const std::string& location) const {
    throw Error(StatusCode::kIo, fmt::format("external data of tensor '{}': reading '{}': {}", tensor_.name(), location,
                                             std::strerror(errno)));
  }

  int64_t number(const std::string& key, const std::string& text) const {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < 0) {
      fail(fmt::format("its {} '{}' is not a size", key, text));
    }
    return value;
  }

  Place parse() {
    Place place;
    for (const onnx::StringStringEntryProto& entry : tensor_.external_data()) {
      if (entry.key() == "location") {
        place.location = entry.value();
      } else if (entry.key() == "offset") {
        place.offset = number("offset", entry.value());
      } else if (entry.key() == "length") {
        place.length = number("length", entry.value());
      } else if (entry.key() != "checksum") {
        warnings_->push_back(
            fmt::format("external data of tensor '{}' has the unknown key '{}'", tensor_.name(), entry.key()));
      }
    }
    if (place.location.empty()) fail("it has no location");
    return place;
  }

  // Component by component, so that no link is followed on the way.
  Descriptor open_file(const std::string& location) const {
    if (location.front() == '/') fail(fmt::format("location '{}' is an absolute path", location));
    if (location.find('\0') != std::string::npos) fail("its location holds a zero byte");
    if (location.find("_ORT_MEM_ADDR_") != std::string::npos) {
      fail(fmt::format("location '{}' marks an address in another program's memory; save the model anew", location));
    }
    for (size_t begin = 0, end; begin <= location.size(); begin = end + 1) {
      end = std::min(location.find('/', begin), location.size());
      if (location.compare(begin, end - begin, "..") == 0) {
        fail(fmt::format("location '{}' leaves the model's folder", location));
      }
    }
    Descriptor folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) fail_io(folder_);
    size_t begin = 0;
    for (size_t end = location.find('/'); end != std::string::npos; begin = end + 1, end = location.find('/', begin)) {
      const std::string name = location.substr(begin, end - begin);
      if (name.empty() || name == ".") continue;
      Descriptor next(openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (next.get() < 0) {
        fail(
            fmt::format("location '{}': '{}' is not a folder of the model's (links are not followed)", location, name));
      }
      folder = std::move(next);
    }
    return open_plain(folder.get(), location.substr(begin), location);
  }

  // Looks before it opens: opening a device or a FIFO can already do something.
  Descriptor open_plain(int folder, const std::string& name, const std::string& location) const {
    struct stat info {};
    if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      fail(fmt::format("location '{}': {}", location, std::strerror(errno)));
    }
    check_plain(info, location);
    Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0) fail_io(location);
    if (fstat(file.get(), &info) != 0) fail_io(location);
    check_plain(info, location);
    return file;
  }

  void check_plain(const struct stat& info, const std::string& location) const {
    if (!S_ISREG(info.st_mode)) {
      fail(fmt::format("location '{}' is not a plain file; copy the data there", location));
    }
    if (info.st_nlink != 1) {
      fail(fmt::format("location '{}' is a hard link, so it may be another's file; copy the data there", location));
    }
  }

  // Bytes to read, all of them inside the file and as many as the dims and type make.
  uint64_t size_wanted(const Place& place, uint64_t file_size) const {
    const uint64_t wanted = raw_bytes(tensor_, fmt::format("tensor '{}'", tensor_.name()));
    if (place.length && static_cast<uint64_t>(*place.length) != wanted) {
      fail(fmt::format("its length is {}, but its dimensions and type make {}", *place.length, wanted));
    }
    if (!in_range(static_cast<uint64_t>(place.offset), wanted, file_size)) {
      fail(fmt::format("offset {} and length {} pass the end of '{}', which has {} bytes", place.offset, wanted,
                       place.location, file_size));
    }
    return wanted;
  }

  onnx::TensorProto& tensor_;
  const std::string& folder_;
  std::vector<std::string>* warnings_;
};

}  // namespace

void read_external_data(onnx::TensorProto& tensor, const std::string& folder, std::vector<std::string>* warnings) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  ExternalReader(tensor, folder, warnings).read();
}

}  // namespace planwright::builder
