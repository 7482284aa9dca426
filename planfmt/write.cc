#include "planfmt/write.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "planfmt/atomic_file.h"
#include "planfmt/encode.h"
#include "planfmt/header.h"

namespace planwright::planfmt {
namespace {

constexpr unsigned char kZeros[kPageBytes] = {};

// Calls `visit(data, size)` over the weights section in order, the zeros between blobs included, until one fails.
template <typename Visit>
Status for_each_piece(const WeightStore& weights, const std::vector<BlobPlace>& places, const Visit& visit) {
  uint64_t end = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    PW_RETURN_IF_ERROR(visit(kZeros, static_cast<size_t>(places[i].offset - end)));
    PW_RETURN_IF_ERROR(visit(weights.blobs()[i]->data(), weights.blobs()[i]->size()));
    end = places[i].offset + places[i].size;
  }
  return kOkStatus;
}

// The checksum of each chunk of a section that comes in pieces.
class ChunkHasher {
 public:
  void add(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    while (size > 0) {
      if (filled_ == 0) XXH3_64bits_reset(&state_);
      const size_t taken = std::min<size_t>(size, kChunkBytes - filled_);
      XXH3_64bits_update(&state_, bytes, taken);
      bytes += taken;
      size -= taken;
      filled_ += taken;
      if (filled_ == kChunkBytes) flush();
    }
  }
  std::vector<uint64_t> finish() {
    if (filled_ > 0) flush();
    return std::move(checksums_);
  }

 private:
  void flush() {
    checksums_.push_back(XXH3_64bits_digest(&state_));
    filled_ = 0;
  }

  XXH3_state_t state_;
  size_t filled_ = 0;
  std::vector<uint64_t> checksums_;
};

FileHeader make_header(const Sections& sections, const flatbuffers::DetachedBuffer& plan, uint64_t weights_bytes,
                       const std::vector<uint64_t>& chunks) {
  FileHeader header{};
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.header_bytes = sizeof header;
  header.file_bytes = sections.file_bytes;
  header.plan_offset = sections.plan_offset;
  header.plan_bytes = plan.size();
  header.chunks_offset = sections.chunks_offset;
  header.chunk_count = sections.chunk_count;
  header.weights_offset = sections.weights_offset;
  header.weights_bytes = weights_bytes;
  header.plan_checksum = XXH3_64bits(plan.data(), plan.size());
  header.chunks_checksum = XXH3_64bits(chunks.data(), chunks.size() * sizeof(uint64_t));
  header.header_checksum = XXH3_64bits(&header, kHeaderChecksumOffset);
  return header;
}

using Sink = std::function<Status(const void* data, size_t size)>;

Status write_sections(const PlanModel& model, const Sink& write) {
  uint64_t weights_bytes = 0;
  const std::vector<BlobPlace> places = place_blobs(model.weights, &weights_bytes);
  const flatbuffers::DetachedBuffer plan = encode_plan(model, places);
  if (plan.size() > kMaxPlanBytes || weights_bytes > kMaxBytes) {
    return error(StatusCode::kResource, "the engine's plan takes %zu bytes and its weights %llu; at most %llu and %llu",
                 plan.size(), static_cast<unsigned long long>(weights_bytes),
                 static_cast<unsigned long long>(kMaxPlanBytes), static_cast<unsigned long long>(kMaxBytes));
  }
  ChunkHasher hasher;
  PW_RETURN_IF_ERROR(for_each_piece(model.weights, places, [&](const void* data, size_t size) {
    hasher.add(data, size);
    return kOkStatus;
  }));
  const std::vector<uint64_t> chunks = hasher.finish();
  const Sections sections = Sections::of(plan.size(), weights_bytes);
  const FileHeader header = make_header(sections, plan, weights_bytes, chunks);

  PW_RETURN_IF_ERROR(write(&header, sizeof header));
  PW_RETURN_IF_ERROR(write(plan.data(), plan.size()));
  PW_RETURN_IF_ERROR(write(kZeros, sections.chunks_offset - sections.plan_offset - plan.size()));
  const size_t chunks_bytes = chunks.size() * sizeof(uint64_t);
  PW_RETURN_IF_ERROR(write(chunks.data(), chunks_bytes));
  PW_RETURN_IF_ERROR(write(kZeros, sections.weights_offset - sections.chunks_offset - chunks_bytes));
  return for_each_piece(model.weights, places, write);
}

}  // namespace

Status check_writable(const std::string& path) {
  // The temporary that this makes goes again at once.
  AtomicFile file;
  return file.create(path);
}

Status write_engine(const PlanModel& plan, const std::string& path, const EngineCheck& check) {
  try {
    AtomicFile file;
    PW_RETURN_IF_ERROR(file.create(path));
    const Sink write = [&](const void* data, size_t size) { return file.write(data, size); };
    PW_RETURN_IF_ERROR(write_sections(plan, write));
    if (check) PW_RETURN_IF_ERROR(check(file.temporary()));
    return file.commit();
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResource, "%s: no memory left to lay out the engine", path.c_str());
  }
}

Status engine_bytes(const PlanModel& plan, std::vector<std::byte>* bytes) {
  bytes->clear();
  try {
    return write_sections(plan, [&](const void* data, size_t size) {
      const auto* first = static_cast<const std::byte*>(data);
      bytes->insert(bytes->end(), first, first + size);
      return kOkStatus;
    });
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResource, "no memory left to lay out the engine");
  }
}

}  // namespace planwright::planfmt
