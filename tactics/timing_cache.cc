#include "tactics/timing_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "planfmt/atomic_file.h"
#include "tactics/timing_file.h"

namespace planwright::tactics {
namespace {

// A cache of a thousand models takes some 50 MB; what is larger is no timing cache.
constexpr uintmax_t kMostBytes = uintmax_t{1} << 30;
// Holding the lock takes a builder some milliseconds. Who waits longer meets a file system whose locks do not work.
constexpr int kLockTries = 100;
constexpr useconds_t kLockWaitUs = 50'000;

// The timings of the file at `path`, none where there is no such file. kInvalid: it is another file, and to be kept.
Status read_timings(const std::string& path, TimingsByDevice* timings) {
  timings->clear();
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) return kOkStatus;
  if (!std::filesystem::is_regular_file(path, problem)) return error(StatusCode::kIo, "not a file");
  const uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem || size > kMostBytes) return error(StatusCode::kCorrupt, "too large for a timing cache");
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    return error(StatusCode::kIo, "cannot be read: %s", strerror(errno));
  }
  if (!is_timing_file(bytes)) return error(StatusCode::kInvalid, "not a timing cache");
  return parse_timings(bytes, timings);
}

// Holds the folder of the cache locked against other builders; a lock on the cache itself would stay with the old file
// when the new one takes its name.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    fd_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < kLockTries && fd_ >= 0 && !is_held_; ++i) {
      is_held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0;
      if (!is_held_) usleep(kLockWaitUs);
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);  // and with it the lock
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  int fd_ = -1;
  bool is_held_ = false;
};

bool is_same_candidate(const CachedMeasurement& a, const CachedMeasurement& b) {
  return a.kernel == b.kernel && std::equal(std::begin(a.tactic.v), std::end(a.tactic.v), std::begin(b.tactic.v));
}

const CachedMeasurement* find_in(const std::vector<CachedMeasurement>& list, const CachedMeasurement& wanted) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const CachedMeasurement& cached) { return is_same_candidate(cached, wanted); });
  return it != list.end() && it->revision == wanted.revision ? &*it : nullptr;
}

// `fresh` over what `list` knows of the same candidates.
void replace_in(std::vector<CachedMeasurement>& list, const std::vector<CachedMeasurement>& fresh) {
  for (const CachedMeasurement& cached : fresh) {
    std::erase_if(list, [&](const CachedMeasurement& old) { return is_same_candidate(old, cached); });
    list.push_back(cached);
  }
}

}  // namespace

TimingCache::TimingCache(std::string path, std::string device, Warn warn)
    : path_(std::move(path)), device_(std::move(device)), warn_(std::move(warn)) {
  if (path_.empty()) return;
  TimingsByDevice timings;
  if (const Status status = read_timings(path_, &timings); !status.ok()) {
    const bool is_kept = status.code() == StatusCode::kInvalid;
    if (warn_) {
      warn_(fmt::format("timing cache {}: {}; ignored, and {}", path_, last_error(),
                        is_kept ? "kept as it is: this build's timings are saved nowhere; name another file"
                                : "replaced when this build ends"));
    }
    if (is_kept) path_.clear();
    return;
  }
  if (const auto it = timings.find(device_); it != timings.end()) {
    entries_ = std::move(it->second);
  } else if (!timings.empty() && warn_) {
    warn_(fmt::format("timing cache {}: its entries are of another device ({}) than this one ({}); ignored", path_,
                      timings.begin()->first, device_));
  }
}

std::optional<std::vector<Measurement>> TimingCache::find(const TacticKey& key,
                                                          const std::vector<Candidate>& candidates) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return std::nullopt;
  std::vector<Measurement> measurements;
  for (const Candidate& candidate : candidates) {
    const CachedMeasurement* known =
        find_in(entry->second, {candidate.kernel->name, candidate.kernel->revision, candidate.tactic, {}});
    if (known == nullptr) return std::nullopt;
    measurements.push_back(known->measurement);
  }
  return measurements;
}

void TimingCache::put(const TacticKey& key, const std::vector<Candidate>& candidates,
                      const std::vector<Measurement>& measurements) {
  std::vector<CachedMeasurement> fresh;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const KernelDescriptor& kernel = *candidates[i].kernel;
    fresh.push_back({kernel.name, kernel.revision, candidates[i].tactic, measurements[i]});
  }
  replace_in(entries_[key], fresh);
  replace_in(added_[key], fresh);
}

void TimingCache::save() {
  if (path_.empty() || added_.empty()) return;
  const FolderLock lock(path_);
  if (!lock.is_held() && warn_) {
    warn_(
        fmt::format("timing cache {}: its folder cannot be locked; timings of a build that ends at this moment may "
                    "be lost",
                    path_));
  }
  TimingsByDevice timings;
  const Status status_before = read_timings(path_, &timings);
  if (status_before.code() == StatusCode::kInvalid) return;  // came meanwhile
  if (!status_before.ok()) timings.clear();
  TimingEntries& entries = timings[device_];
  for (const auto& [key, fresh] : added_) {
    std::vector<CachedMeasurement>& known = entries[key];
    const bool has_all = std::all_of(
        fresh.begin(), fresh.end(), [&](const CachedMeasurement& cached) { return find_in(known, cached) != nullptr; });
    if (!has_all) replace_in(known, fresh);
  }
  const std::vector<std::byte> bytes = timing_bytes(timings);
  planfmt::AtomicFile file;
  Status status = file.create(path_);
  if (status.ok()) status = file.write(bytes.data(), bytes.size());
  if (status.ok()) status = file.commit();
  if (status.ok()) {
    added_.clear();
  } else if (warn_) {
    warn_(fmt::format("timing cache not saved: {}", last_error()));
  }
}

}  // namespace planwright::tactics
