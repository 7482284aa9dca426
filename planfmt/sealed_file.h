// Files that are one FlatBuffer behind eight letters and a checksum: what builders keep for one another.
#ifndef PLANWRIGHT_PLANFMT_SEALED_FILE_H_
#define PLANWRIGHT_PLANFMT_SEALED_FILE_H_

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/types/status.h"

namespace planwright::planfmt {

using Magic = char[8];

// The file of a finished builder.
std::vector<std::byte> sealed(const Magic& magic, const flatbuffers::FlatBufferBuilder& builder);

// Whether the bytes begin as such a file does, or are none.
bool is_sealed_as(const Magic& magic, const std::vector<std::byte>& bytes);

// Finds the FlatBuffer in a file; `title` is what the file should be, "a timing cache". kCorrupt where it is another,
// or its checksum does not match. What is found may still be no valid FlatBuffer: someone may have sealed it himself.
Status unseal(const Magic& magic, const char* title, const std::vector<std::byte>& bytes, const uint8_t** body,
              size_t* size);

// A verifier for it. One table in every 16 bytes is more than any real file has.
inline flatbuffers::Verifier sealed_verifier(const uint8_t* body, size_t size) {
  return flatbuffers::Verifier(body, size, /*max_depth=*/8, static_cast<flatbuffers::uoffset_t>(size / 16 + 16));
}

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_SEALED_FILE_H_
