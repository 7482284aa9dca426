#include "apps/common/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/common/console.h"
#include "planfmt/atomic_file.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;
namespace {

// Exists and is neither a file nor a folder.
bool is_device(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a, of_b;
  const bool has_a = stat(a.c_str(), &of_a) == 0, has_b = stat(b.c_str(), &of_b) == 0;
  if (has_a && has_b) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  if (has_a != has_b) return false;
  std::error_code failure;
  const fs::path whole_a = fs::weakly_canonical(fs::absolute(a), failure);
  const fs::path whole_b = fs::weakly_canonical(fs::absolute(b), failure);
  return !failure && whole_a == whole_b;
}

std::string title_of(const NamedFile& file) {
  return file.flag + (file.flag.starts_with("--") ? "=" : " ") + file.path;
}

void check_distinct(const NamedFile& written, const NamedFile& other) {
  if (other.path.empty() || is_device(written.path) || !is_same_file(written.path, other.path)) return;
  throw UsageError(fmt::format("{} would overwrite {}: give it a file of its own", title_of(written), title_of(other)));
}

}  // namespace

void check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].path.empty()) continue;
    for (const NamedFile& input : read) check_distinct(written[i], input);
    for (size_t earlier = 0; earlier < i; ++earlier) check_distinct(written[i], written[earlier]);
  }
  for (const NamedFile& file : written) {
    if (file.path.empty() || is_device(file.path)) continue;
    planfmt::AtomicFile trial;  // its temporary goes again at once
    throw_if_error(trial.create(file.path), file.flag + ": ");
  }
}

void write_file(const std::string& path, const std::string& content) {
  if (is_device(path)) {
    std::ofstream stream(path, std::ios::binary);
    stream << content;
    stream.close();
    if (!stream) throw Error(StatusCode::kIo, fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    return;
  }
  planfmt::AtomicFile file;
  throw_if_error(file.create(path));
  throw_if_error(file.write(content.data(), content.size()));
  throw_if_error(file.commit());
}

}  // namespace planwright::apps
