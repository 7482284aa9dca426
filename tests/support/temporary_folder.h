#ifndef PLANWRIGHT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define PLANWRIGHT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace planwright::tests {

// A folder of its own that goes, with what is in it, when the object does. In memory where the system has such a place:
// engines are synced when written, which takes a disk 20 ms.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = access(memory.c_str(), W_OK) == 0;
    std::string name = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "planwright-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
