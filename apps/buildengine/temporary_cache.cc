#include "apps/buildengine/temporary_cache.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;

TemporaryCache::TemporaryCache() {
  std::error_code problem;
  folder_ = (fs::temp_directory_path(problem) / "planwright-XXXXXX").string();
  if (problem || mkdtemp(folder_.data()) == nullptr) {
    throw Error(StatusCode::kIo, fmt::format("cannot make a folder for the timing cache ({}): {}; name a file with "
                                             "--timingCacheFile",
                                             folder_, std::strerror(errno)));
  }
}

TemporaryCache::~TemporaryCache() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace planwright::apps
