// Makes the checksums of a tampered engine right again: what a forger would do.
#ifndef PLANWRIGHT_TESTS_SUPPORT_RESEAL_H_
#define PLANWRIGHT_TESTS_SUPPORT_RESEAL_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "planfmt/header.h"

namespace planwright::tests {

inline planfmt::FileHeader header_of(const std::vector<char>& bytes) {
  planfmt::FileHeader header;
  memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// Puts `header` into the file with its own checksum right.
inline void put_header(planfmt::FileHeader header, std::vector<char>* bytes) {
  header.header_checksum = XXH3_64bits(&header, planfmt::kHeaderChecksumOffset);
  memcpy(bytes->data(), &header, sizeof header);
}

// All checksums, for a file whose sections are where its header says.
inline void reseal(std::vector<char>* bytes) {
  planfmt::FileHeader header = header_of(*bytes);
  char* data = bytes->data();
  for (uint64_t chunk = 0; chunk < header.chunk_count; ++chunk) {
    const uint64_t begin = chunk * planfmt::kChunkBytes;
    const uint64_t size = std::min(planfmt::kChunkBytes, header.weights_bytes - begin);
    const uint64_t checksum = XXH3_64bits(data + header.weights_offset + begin, size);
    memcpy(data + header.chunks_offset + chunk * sizeof checksum, &checksum, sizeof checksum);
  }
  header.plan_checksum = XXH3_64bits(data + header.plan_offset, header.plan_bytes);
  header.chunks_checksum = XXH3_64bits(data + header.chunks_offset, header.chunk_count * sizeof(uint64_t));
  put_header(header, bytes);
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_SUPPORT_RESEAL_H_
