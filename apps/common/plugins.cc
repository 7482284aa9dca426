#include "apps/common/plugins.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <planwright/plugin.h>

#include <filesystem>

#include "schemas/types/error.h"

namespace planwright::apps {
namespace {

[[noreturn]] void fail(StatusCode code, const std::string& path, const std::string& what) {
  throw Error(code, fmt::format("--plugins={}: {}", path, what));
}

void load_plugin(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) {
    fail(StatusCode::kIo, path, "there is no such file; give the path of a plugin's shared library");
  }
  // With its folder, so that it is this file and not one of that name on the library path.
  const std::string file = std::filesystem::absolute(path).string();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(StatusCode::kIo, path,
         fmt::format("it cannot be loaded; build it as a shared library for this machine: {}", dlerror()));
  }
  const auto entry = reinterpret_cast<pw_plugin_entry>(dlsym(library, PW_PLUGIN_ENTRY));
  if (entry == nullptr) {
    fail(StatusCode::kInvalid, path,
         fmt::format("it does not export {}(), so it is no plugin (see planwright/plugin.h)", PW_PLUGIN_ENTRY));
  }
  if (const int status = pw_register_plugin(entry()); status != PW_OK) {
    fail(static_cast<StatusCode>(status), path, pw_last_error());
  }
}

}  // namespace

void load_plugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) load_plugin(path);
}

}  // namespace planwright::apps
