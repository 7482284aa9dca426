#include "planfmt/engine_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "planfmt/checksum.h"
#include "planfmt/header.h"
#include "planfmt/limits.h"

namespace planwright::planfmt {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "engine files are read in place");

unsigned long long printable(uint64_t value) { return value; }

bool all_zero(const std::byte* begin, const std::byte* end) {
  for (; begin != end; ++begin) {
    if (*begin != std::byte{0}) return false;
  }
  return true;
}

Status check_header(const FileHeader& header, uint64_t size) {
  if (header.header_checksum != XXH3_64bits(&header, kHeaderChecksumOffset)) {
    return error(StatusCode::kCorrupt, "the header's checksum does not match: the file is damaged; build it again");
  }
  if (header.version > kFormatVersion) {
    return error(
        StatusCode::kIncompatible,
        "the engine has format version %u, this library reads %u to %u: update the library or build the engine "
        "with an older Planwright",
        header.version, kOldestReadableVersion, kFormatVersion);
  }
  if (header.version < kOldestReadableVersion) {
    return error(StatusCode::kIncompatible,
                 "the engine has format version %u, this library reads %u to %u: build the engine again",
                 header.version, kOldestReadableVersion, kFormatVersion);
  }
  if (header.file_bytes > kMaxBytes) {
    return error(StatusCode::kResource, "the engine says it has %llu bytes, more than an address space holds",
                 printable(header.file_bytes));
  }
  if (header.file_bytes != size) {
    return error(StatusCode::kCorrupt, "the file has %llu bytes, its header says %llu: it was cut short or added to",
                 printable(size), printable(header.file_bytes));
  }
  return kOkStatus;
}

Status check_sections(const FileHeader& header) {
  if (header.plan_bytes > kMaxPlanBytes || header.weights_bytes > kMaxBytes) {
    return error(StatusCode::kCorrupt, "the header names a plan of %llu bytes and weights of %llu: too large",
                 printable(header.plan_bytes), printable(header.weights_bytes));
  }
  const Sections sections = Sections::of(header.plan_bytes, header.weights_bytes);
  if (header.header_bytes != sizeof header || header.plan_offset != sections.plan_offset ||
      header.chunks_offset != sections.chunks_offset || header.chunk_count != sections.chunk_count ||
      header.weights_offset != sections.weights_offset || header.file_bytes != sections.file_bytes) {
    return error(StatusCode::kCorrupt, "the header's sections are not where a builder puts them");
  }
  for (const uint64_t word : header.reserved) {
    if (word != 0) return error(StatusCode::kCorrupt, "the header's reserved bytes are not zero");
  }
  return kOkStatus;
}

Status check_weights(const FileHeader& header, const std::byte* data) {
  const std::byte* weights = data + header.weights_offset;
  for (uint64_t chunk = 0; chunk < header.chunk_count; ++chunk) {
    const uint64_t begin = chunk * kChunkBytes;
    const uint64_t rest = header.weights_bytes - begin;
    uint64_t expected;
    memcpy(&expected, data + header.chunks_offset + chunk * sizeof expected, sizeof expected);
    if (checksum_of(weights + begin, rest < kChunkBytes ? rest : kChunkBytes) != expected) {
      return error(StatusCode::kCorrupt, "the weights are damaged between bytes %llu and %llu of the file",
                   printable(header.weights_offset + begin),
                   printable(header.weights_offset + begin + (rest < kChunkBytes ? rest : kChunkBytes)));
    }
  }
  return kOkStatus;
}

// Reads the whole file from its start.
Status read_all(int descriptor, std::byte* data, uint64_t size) {
  uint64_t done = 0;
  while (done < size) {
    const ssize_t got = pread(descriptor, data + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(StatusCode::kIo, "cannot be read: %s", strerror(errno));
    if (got == 0) return error(StatusCode::kCorrupt, "the file was cut short while it was read");
    done += static_cast<uint64_t>(got);
  }
  return kOkStatus;
}

}  // namespace

EngineFile::~EngineFile() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

Status EngineFile::map_or_read(int descriptor, uint64_t size, bool read) {
  if (read) {
    PW_RETURN_IF_ERROR(read_.allocate(size));
    return read_all(descriptor, read_.data(), size);
  }
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapping == MAP_FAILED) {
    return error(errno == ENOMEM ? StatusCode::kResource : StatusCode::kIo, "cannot be mapped: %s", strerror(errno));
  }
  mapping_ = mapping;
  mapping_bytes_ = size;
  return kOkStatus;
}

Status EngineFile::open(const char* path, const OpenMode& mode) {
  // A FIFO would otherwise wait for its other end.
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return error(StatusCode::kIo, "%s: cannot be opened: %s", path, strerror(errno));
  Status status = kOkStatus;
  struct stat info;
  if (fstat(descriptor, &info) != 0) {
    status = error(StatusCode::kIo, "cannot be examined: %s", strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status =
        error(StatusCode::kIo, "is %s, not a file", S_ISDIR(info.st_mode) ? "a folder" : "a device, socket or pipe");
  } else if (info.st_size < static_cast<off_t>(sizeof(FileHeader))) {
    status = error(StatusCode::kCorrupt, "the file has %lld bytes, too few for an engine",
                   static_cast<long long>(info.st_size));
  } else {
    const auto size = static_cast<uint64_t>(info.st_size);
    status = map_or_read(descriptor, size, mode.read);
    if (status.ok()) {
      status = check(mode.read ? read_.data() : static_cast<const std::byte*>(mapping_), size, mode.trusted);
    }
  }
  close(descriptor);
  return status.ok() ? status : error_context(status, "%s: ", path);
}

Status EngineFile::open_memory(const void* data, size_t bytes, const OpenMode& mode) {
  if (bytes < sizeof(FileHeader)) {
    return error(StatusCode::kCorrupt, "%zu bytes are too few for an engine", bytes);
  }
  if (!mode.read) {
    if (reinterpret_cast<uintptr_t>(data) % kBlobAlignment != 0) {
      return error(StatusCode::kInvalid, "an engine in memory must begin at a multiple of %llu bytes",
                   printable(kBlobAlignment));
    }
    return check(static_cast<const std::byte*>(data), bytes, mode.trusted);
  }
  PW_RETURN_IF_ERROR(read_.allocate(bytes));
  memcpy(read_.data(), data, bytes);
  return check(read_.data(), bytes, mode.trusted);
}

Status EngineFile::check(const std::byte* data, uint64_t size, bool trusted) {
  // A copy: a mapped file may change under our feet.
  FileHeader header;
  memcpy(&header, data, sizeof header);
  if (memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return error(StatusCode::kCorrupt, "is not a Planwright engine");
  }
  PW_RETURN_IF_ERROR(check_header(header, size));
  PW_RETURN_IF_ERROR(check_sections(header));

  PW_RETURN_IF_ERROR(plan_copy_.allocate(header.plan_bytes));
  memcpy(plan_copy_.data(), data + header.plan_offset, header.plan_bytes);
  plan_copy_size_ = header.plan_bytes;
  if (XXH3_64bits(plan_copy_.data(), header.plan_bytes) != header.plan_checksum) {
    return error(StatusCode::kCorrupt, "the plan's checksum does not match: the file is damaged; build it again");
  }
  const uint64_t chunks_bytes = header.chunk_count * sizeof(uint64_t);
  if (XXH3_64bits(data + header.chunks_offset, chunks_bytes) != header.chunks_checksum) {
    return error(StatusCode::kCorrupt, "the checksums of the weights are damaged; build the engine again");
  }
  if (!all_zero(data + header.plan_offset + header.plan_bytes, data + header.chunks_offset) ||
      !all_zero(data + header.chunks_offset + chunks_bytes, data + header.weights_offset)) {
    return error(StatusCode::kCorrupt, "bytes between the sections are not zero");
  }
  if (!trusted) PW_RETURN_IF_ERROR(check_weights(header, data));

  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(plan_copy_.data()), header.plan_bytes, kMaxTableDepth,
                                 kMaxTables);
  if (!plan::VerifyPlanBuffer(verifier)) {
    return error(StatusCode::kCorrupt, "the plan is not a well-formed FlatBuffer");
  }
  plan_ = plan::GetPlan(plan_copy_.data());
  weights_ = data + header.weights_offset;
  weights_bytes_ = header.weights_bytes;
  file_bytes_ = size;
  return kOkStatus;
}

}  // namespace planwright::planfmt
