// What candidates took, kept from build to build, so that the same cache gives the same choices.
#ifndef PLANWRIGHT_TACTICS_TIMING_CACHE_H_
#define PLANWRIGHT_TACTICS_TIMING_CACHE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tactics/measurement.h"
#include "tactics/select.h"

namespace planwright::tactics {

// A candidate as the file names it, and what was measured.
struct CachedMeasurement {
  std::string kernel;
  uint32_t revision = 0;
  TacticParams tactic;
  Measurement measurement;
};

using TimingEntries = std::map<TacticKey, std::vector<CachedMeasurement>>;

class TimingCache {
 public:
  using Warn = std::function<void(const std::string&)>;

  // What the file at `path` holds for `device`; empty where there is no file, or it is damaged, of another version or
  // for other devices only, each of which is one warning (FAULTS B26). An empty `path` is a cache of this process.
  TimingCache(std::string path, std::string device, Warn warn);

  // One measurement for each candidate; nothing unless every one of them is known, at its kernel's present revision.
  std::optional<std::vector<Measurement>> find(const TacticKey& key, const std::vector<Candidate>& candidates) const;

  // Remembers measurements; those of the same candidates known before are replaced, others kept.
  void put(const TacticKey& key, const std::vector<Candidate>& candidates,
           const std::vector<Measurement>& measurements);

  // Merges what put() added into the file: under a lock, so that builders who share it lose nothing, and atomically.
  // Where another builder has meanwhile timed the same candidates, theirs stay. Does nothing without a path or
  // anything new. A failure is a warning: the build goes on.
  void save();

 private:
  std::string path_, device_;
  Warn warn_;
  TimingEntries entries_;  // this device's
  TimingEntries added_;    // those that are not in the file
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_TIMING_CACHE_H_
