#include "tactics/timing_file.h"

#include <algorithm>

#include "planfmt/sealed_file.h"
#include "schemas/timing_cache_generated.h"

namespace planwright::tactics {
namespace {

constexpr uint32_t kVersion = 2;
constexpr planfmt::Magic kMagic = {'P', 'W', 'T', 'I', 'M', 'I', 'N', 'G'};

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
  return planfmt::sealed(kMagic, builder);
}

bool is_timing_file(const std::vector<std::byte>& bytes) { return planfmt::is_sealed_as(kMagic, bytes); }

Status parse_timings(const std::vector<std::byte>& bytes, TimingsByDevice* timings) {
  timings->clear();
  const uint8_t* body;
  size_t size;
  PW_RETURN_IF_ERROR(planfmt::unseal(kMagic, "a timing cache", bytes, &body, &size));
  flatbuffers::Verifier verifier = planfmt::sealed_verifier(body, size);
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
