// The bytes of a timing cache (schemas/timing_cache.fbs).
#ifndef PLANWRIGHT_TACTICS_TIMING_FILE_H_
#define PLANWRIGHT_TACTICS_TIMING_FILE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "schemas/types/status.h"
#include "tactics/timing_cache.h"

namespace planwright::tactics {

// By device fingerprint.
using TimingsByDevice = std::map<std::string, TimingEntries>;

// The same timings give the same bytes.
std::vector<std::byte> timing_bytes(const TimingsByDevice& timings);

// Whether the bytes begin as a timing cache does: what does not is somebody's other file.
bool is_timing_file(const std::vector<std::byte>& bytes);

// Reads bytes that may be anything. kCorrupt, kIncompatible (another version).
Status parse_timings(const std::vector<std::byte>& bytes, TimingsByDevice* timings);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TIMING_FILE_H_
