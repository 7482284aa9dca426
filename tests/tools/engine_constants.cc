// engine_constants: numbers that an engine holds.
//
//   engine_constants FILE SUFFIX ...      prints a line for each constant operand whose name ends in a suffix: the
//   name, a
//                                         tab, its bytes in hexadecimal digits
#include <fmt/format.h>

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "planfmt/engine_file.h"

namespace {

using planwright::planfmt::EngineFile;

int print_constants(const char* path, std::span<char*> suffixes) {
  EngineFile engine;
  if (!engine.open(path, {}).ok()) {
    fmt::print(stderr, "{}\n", planwright::last_error());
    return 1;
  }
  std::map<std::string, std::string> found;  // sorted: what programs list is in no order of names
  for (const auto* program : *engine.plan().programs()) {
    for (const auto* tensor : *program->tensors()) {
      const auto* storage = program->storages()->Get(tensor->storage());
      if (storage->kind() != planwright::plan::StorageKind::Weights || tensor->name() == nullptr) continue;
      const std::string name = tensor->name()->str();
      for (const std::string_view suffix : suffixes) {
        if (!name.ends_with(suffix)) continue;
        const auto* blob = engine.plan().weights()->Get(storage->index());
        const std::span<const std::byte> bytes{engine.weights() + blob->offset(), blob->size()};
        std::string& digits = found[name];
        for (const std::byte byte : bytes) digits += fmt::format("{:02x}", byte);
      }
    }
  }
  for (const auto& [name, digits] : found) fmt::print("{}\t{}\n", name, digits);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: engine_constants FILE SUFFIX ...\n");
    return 2;
  }
  return print_constants(argv[1], std::span<char*>(argv, static_cast<size_t>(argc)).subspan(2));
}
