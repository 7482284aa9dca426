// Memory whose end is watched.
#ifndef PLANWRIGHT_TACTICS_GUARDED_MEMORY_H_
#define PLANWRIGHT_TACTICS_GUARDED_MEMORY_H_

#include <cstddef>

namespace planwright::tactics {

// Zeroed memory, 64-byte aligned, that ends at most 63 bytes before a page that may not be touched: a kernel that runs
// past the end of a buffer crashes where candidates are tried, and not in a product.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(size_t size);  // throws std::bad_alloc
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_GUARDED_MEMORY_H_
