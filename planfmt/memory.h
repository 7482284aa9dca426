// Memory for code that must not throw: every allocation's failure is a status.
#ifndef PLANWRIGHT_PLANFMT_MEMORY_H_
#define PLANWRIGHT_PLANFMT_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "schemas/types/status.h"

namespace planwright::planfmt {

// Owns `size()` elements of plain data, zeroed when allocated.
template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Array() { free(data_); }

  // Replaces what was held. kResource when there is no memory; then the array is empty.
  Status allocate(size_t count) {
    free(std::exchange(data_, nullptr));
    size_ = 0;
    if (count == 0) return kOkStatus;
    data_ = static_cast<T*>(calloc(count, sizeof(T)));  // calloc refuses a product that overflows
    if (data_ == nullptr) {
      return error(StatusCode::kResource, "no memory left: %zu times %zu bytes are needed", count, sizeof(T));
    }
    size_ = count;
    return kOkStatus;
  }

  // Forgets the elements from `count` on.
  void truncate(size_t count) { size_ = count < size_ ? count : size_; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// Of x86-64. Memory on pages of 4 KiB streams at half the speed where each miss of the TLB walks the tables of a guest
// and of its host (7.5 GB/s in place of 15, measured on a virtual Sapphire Rapids).
inline constexpr size_t kHugePage = size_t{2} << 20;

// Bytes at a 64-byte boundary, on huge pages as far as they fill some, contents undefined.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  ~AlignedBytes() { free(data_); }

  Status allocate(size_t bytes) {
    free(std::exchange(data_, nullptr));
    void* data = nullptr;
    const size_t alignment = bytes < kHugePage ? 64 : kHugePage;
    if (posix_memalign(&data, alignment, bytes > 0 ? bytes : 64) != 0) {
      return error(StatusCode::kResource, "no memory left: %zu bytes are needed", bytes);
    }
    // Whole ones only, so that no more becomes resident than is used. A kernel without them refuses, which is as well.
    if (bytes >= kHugePage) (void)madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(data);
    return kOkStatus;
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// An object of its own on the heap; null where there is no memory (the thread's error text says so).
template <typename T>
T* make() {
  void* memory = malloc(sizeof(T));
  if (memory == nullptr) {
    (void)error(StatusCode::kResource, "no memory left: %zu bytes are needed", sizeof(T));
    return nullptr;
  }
  return new (memory) T();
}

// Ends an object from make(). Null is fine.
template <typename T>
void destroy(T* object) {
  if (object == nullptr) return;
  object->~T();
  free(object);
}

struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};

}  // namespace planwright::planfmt

#endif  // PLANWRIGHT_PLANFMT_MEMORY_H_
