#include "planfmt/sealed_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace planwright::planfmt {
namespace {

constexpr size_t kHeaderSize = sizeof(Magic) + sizeof(uint64_t);

}  // namespace

std::vector<std::byte> sealed(const Magic& magic, const flatbuffers::FlatBufferBuilder& builder) {
  const uint64_t checksum = XXH3_64bits(builder.GetBufferPointer(), builder.GetSize());
  std::vector<std::byte> bytes(kHeaderSize + builder.GetSize());
  std::memcpy(bytes.data(), magic, sizeof magic);
  std::memcpy(bytes.data() + sizeof magic, &checksum, sizeof checksum);
  std::memcpy(bytes.data() + kHeaderSize, builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

bool is_sealed_as(const Magic& magic, const std::vector<std::byte>& bytes) {
  return bytes.empty() || std::memcmp(bytes.data(), magic, std::min(bytes.size(), sizeof magic)) == 0;
}

Status unseal(const Magic& magic, const char* title, const std::vector<std::byte>& bytes, const uint8_t** body,
              size_t* size) {
  if (bytes.size() < kHeaderSize || !is_sealed_as(magic, bytes)) return error(StatusCode::kCorrupt, "not %s", title);
  *body = reinterpret_cast<const uint8_t*>(bytes.data()) + kHeaderSize;
  *size = bytes.size() - kHeaderSize;
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + sizeof magic, sizeof checksum);
  if (XXH3_64bits(*body, *size) != checksum)
    return error(StatusCode::kCorrupt, "damaged (its checksum does not match)");
  // The verifier asserts there.
  if (*size >= FLATBUFFERS_MAX_BUFFER_SIZE) return error(StatusCode::kCorrupt, "too large for %s", title);
  return kOkStatus;
}

}  // namespace planwright::planfmt
