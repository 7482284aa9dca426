// The first bytes of an engine file, and where its sections lie. docs/FORMAT.md describes the file byte by byte.
//
//   header | plan | 0..7 zeros | chunk checksums | zeros to a page | weights
//
// The reader accepts exactly one place for every section, so offsets in the header cannot be hostile: they are checked
// for equality with Sections::of(), not for plausibility.
#ifndef PLANWRIGHT_PLANFMT_HEADER_H_
#define PLANWRIGHT_PLANFMT_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "schemas/types/checked.h"

namespace planwright::planfmt {

// As PNG's: the high bit, the line ends and the end-of-file character show transfers that were not binary.
inline constexpr unsigned char kMagic[8] = {0x89, 'P', 'W', 'E', '\r', '\n', 0x1A, '\n'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kOldestReadableVersion = 1;

// The unit of the checksums of weights: large enough that the table is a hundred-thousandth of the file, small enough
// that a check can be spread over threads.
inline constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kBlobAlignment = 64;

// Past this a file is refused before anything is allocated or mapped: the user half of a 48-bit address space.
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 47;
// FlatBuffers' verifier holds only below 2 GiB - 1.
inline constexpr uint64_t kMaxPlanBytes = (uint64_t{1} << 31) - 2;

// Little endian, as are all numbers in the file. Checksums are XXH3-64 with seed 0.
struct FileHeader {
  unsigned char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // sizeof(FileHeader)
  uint64_t file_bytes;
  uint64_t plan_offset, plan_bytes;
  uint64_t chunks_offset, chunk_count;
  uint64_t weights_offset, weights_bytes;
  uint64_t plan_checksum;
  uint64_t chunks_checksum;  // of the table of chunk checksums
  uint64_t reserved[4];      // zero
  uint64_t header_checksum;  // of all bytes before it
};
static_assert(sizeof(FileHeader) == 128);
inline constexpr size_t kHeaderChecksumOffset = offsetof(FileHeader, header_checksum);

// Where the sections of a plan and weights of these sizes lie; sizes at most kMaxPlanBytes and kMaxBytes.
struct Sections {
  uint64_t plan_offset, chunks_offset, chunk_count, weights_offset, file_bytes;

  static constexpr Sections of(uint64_t plan_bytes, uint64_t weights_bytes) {
    Sections sections{};
    sections.plan_offset = sizeof(FileHeader);
    sections.chunks_offset = align_up(sections.plan_offset + plan_bytes, sizeof(uint64_t));
    sections.chunk_count = (weights_bytes + kChunkBytes - 1) / kChunkBytes;
    sections.weights_offset = align_up(sections.chunks_offset + sections.chunk_count * sizeof(uint64_t), kPageBytes);
    sections.file_bytes = sections.weights_offset + weights_bytes;
    return sections;
  }
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_HEADER_H_
