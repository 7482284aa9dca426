#include "tactics/timing_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "schemas/timing_cache_generated.h"

namespace planwright::tactics {
namespace {

constexpr uint32_t kVersion = 2;
constexpr char kMagic[8] = {'P', 'W', 'T', 'I', 'M', 'I', 'N', 'G'};
constexpr size_t kHeaderSize = sizeof kMagic + sizeof(uint64_t);

flatbuffers::Offset<timing::Measurement> write(const CachedMeasurement& cached,
                                               flatbuffers::FlatBufferBuilder& builder) {
  const auto kernel = builder.CreateSharedString(cached.kernel);
  const auto tactic = builder.CreateVector(cached.tactic.v, std::size(cached.tactic.v));
  return timing::CreateMeasurement(builder, kernel, cached.revision, tactic,
                                   static_cast<uint8_t>(cached.measurement.outcome), cached.measurement.time_us,
                                   cached.measurement.spread, cached.measurement.runs);
}

flatbuffers::Offset<timing::Device> write(const std::string& device, const TimingEntries& entries,
                                          flatbuffers::FlatBufferBuilder& builder) {
  std::vector<flatbuffers::Offset<timing::Entry>> list;
  for (const auto& [key, measurements] : entries) {
    std::vector<flatbuffers::Offset<timing::Measurement>> offsets;
    for (const CachedMeasurement& cached : measurements) offsets.push_back(write(cached, builder));
    list.push_back(timing::CreateEntry(builder, key.low, key.high, builder.CreateVector(offsets)));
  }
  return timing::CreateDevice(builder, builder.CreateString(device), builder.CreateVector(list));
}

bool read(const timing::Measurement& stored, CachedMeasurement* cached) {
  if (stored.tactic()->size() != std::size(cached->tactic.v) ||
      stored.outcome() > static_cast<uint8_t>(Outcome::kFailed)) {
    return false;
  }
  cached->kernel = stored.kernel()->str();
  cached->revision = stored.revision();
  std::copy(stored.tactic()->begin(), stored.tactic()->end(), cached->tactic.v);
  cached->measurement = {static_cast<Outcome>(stored.outcome()), stored.time_us(), stored.spread(), stored.runs()};
  return true;
}

}  // namespace

std::vector<std::byte> timing_bytes(const TimingsByDevice& timings) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<timing::Device>> devices;
  for (const auto& [device, entries] : timings) devices.push_back(write(device, entries, builder));
  builder.Finish(timing::CreateCache(builder, kVersion, builder.CreateVector(devices)));

  const uint64_t checksum = XXH3_64bits(builder.GetBufferPointer(), builder.GetSize());
  std::vector<std::byte> bytes(kHeaderSize + builder.GetSize());
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, &checksum, sizeof checksum);
  std::memcpy(bytes.data() + kHeaderSize, builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

bool is_timing_file(const std::vector<std::byte>& bytes) {
  return bytes.empty() || std::memcmp(bytes.data(), kMagic, std::min(bytes.size(), sizeof kMagic)) == 0;
}

Status parse_timings(const std::vector<std::byte>& bytes, TimingsByDevice* timings) {
  timings->clear();
  if (bytes.size() < kHeaderSize || !is_timing_file(bytes)) {
    return error(StatusCode::kCorrupt, "not a timing cache");
  }
  const uint8_t* body = reinterpret_cast<const uint8_t*>(bytes.data()) + kHeaderSize;
  const size_t size = bytes.size() - kHeaderSize;
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + sizeof kMagic, sizeof checksum);
  if (XXH3_64bits(body, size) != checksum) return error(StatusCode::kCorrupt, "damaged (its checksum does not match)");

  // Past the checksum it is what some builder wrote; the verifier is for those who write their own. One table in every
  // 16 bytes is more than any real file has.
  flatbuffers::Verifier verifier(body, size, /*max_depth=*/8, static_cast<flatbuffers::uoffset_t>(size / 16 + 16));
  if (!timing::VerifyCacheBuffer(verifier)) return error(StatusCode::kCorrupt, "damaged (not a valid FlatBuffer)");
  const timing::Cache* cache = timing::GetCache(body);
  if (cache->version() != kVersion) {
    return error(StatusCode::kIncompatible, "of version %u; this builder reads version %u", cache->version(), kVersion);
  }
  for (const timing::Device* device : *cache->devices()) {
    TimingEntries& entries = (*timings)[device->fingerprint()->str()];
    for (const timing::Entry* entry : *device->entries()) {
      std::vector<CachedMeasurement>& list = entries[{entry->key_low(), entry->key_high()}];
      for (const timing::Measurement* measurement : *entry->measurements()) {
        if (!read(*measurement, &list.emplace_back())) {
          timings->clear();
          return error(StatusCode::kCorrupt, "damaged (a measurement that no builder writes)");
        }
      }
    }
  }
  return kOkStatus;
}

}  // namespace planwright::tactics
