#include <xxhash.h>

#include <algorithm>

#include "planfmt/plan_model.h"

namespace planwright::planfmt {

uint32_t WeightStore::add(std::shared_ptr<const std::vector<std::byte>> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes->data(), bytes->size());
  const Entry entry{hash.low64, hash.high64, static_cast<uint32_t>(blobs_.size())};
  const auto less = [](const Entry& a, const Entry& b) {
    return a.hash_low != b.hash_low ? a.hash_low < b.hash_low : a.hash_high < b.hash_high;
  };
  const auto [first, last] = std::equal_range(sorted_.begin(), sorted_.end(), entry, less);
  for (auto it = first; it != last; ++it) {
    if (*blobs_[it->index] == *bytes) return it->index;
  }
  sorted_.insert(last, entry);
  blobs_.push_back(std::move(bytes));
  return entry.index;
}

uint64_t WeightStore::total_bytes() const {
  uint64_t total = 0;
  for (const auto& blob : blobs_) total += blob->size();
  return total;
}

}  // namespace planwright::planfmt
