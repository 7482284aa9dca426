#include "tactics/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "schemas/types/checked.h"

namespace planwright::tactics {

GuardedMemory::GuardedMemory(size_t size) : size_(size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  const size_t used = align_up(size, 64);
  const size_t usable = align_up(used, page);
  mapped_ = usable + page;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  std::byte* base = static_cast<std::byte*>(mapping_);
  mprotect(base + usable, page, PROT_NONE);
  data_ = base + usable - used;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace planwright::tactics
