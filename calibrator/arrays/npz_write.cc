#include <fmt/format.h>
#include <zlib.h>

#include "calibrator/arrays/npz.h"
#include "calibrator/arrays/zip_format.h"
#include "schemas/types/error.h"

namespace planwright::arrays {
namespace {

void put(std::string& text, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 255);
}

constexpr int kVersion = 20;
constexpr int kFirstDay = 0x21;  // 1980-01-01, so that equal arrays give equal files

// The fields that a file's local header and its directory entry share.
std::string entry_fields(const std::string& name, const std::string& content) {
  std::string text;
  put(text, kVersion, 2);
  put(text, 0x800, 2);  // names are UTF-8
  put(text, zip::kStored, 2);
  put(text, 0, 2);
  put(text, kFirstDay, 2);
  put(text, crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4);
  put(text, content.size(), 4);
  put(text, content.size(), 4);
  put(text, name.size(), 2);
  put(text, 0, 2);
  return text;
}

}  // namespace

std::string format_npz(const std::vector<std::pair<std::string, ir::Tensor>>& arrays) {
  std::string archive, directory;
  for (const auto& [array, tensor] : arrays) {
    const std::string name = array + ".npy", content = format_npy(tensor), fields = entry_fields(name, content);
    const size_t offset = archive.size();
    if (offset + content.size() > UINT32_MAX - (1 << 20)) {
      throw Error(StatusCode::kUnsupported, fmt::format("array '{}': an .npz archive holds at most 4 GiB", array));
    }
    put(archive, zip::kLocalHeader, 4);
    archive += fields + name + content;
    put(directory, zip::kCentralHeader, 4);
    put(directory, kVersion, 2);
    directory += fields;
    put(directory, 0, 10);  // comment, disk, attributes
    put(directory, offset, 4);
    directory += name;
  }
  const size_t start = archive.size();
  archive += directory;
  put(archive, zip::kEndOfDirectory, 4);
  put(archive, 0, 4);
  put(archive, arrays.size(), 2);
  put(archive, arrays.size(), 2);
  put(archive, directory.size(), 4);
  put(archive, start, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace planwright::arrays
