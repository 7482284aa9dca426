#include "planfmt/checksum.h"

#include <xxhash.h>

namespace planwright::planfmt {

uint64_t checksum_of(const std::byte* data, size_t bytes) {
  return __builtin_cpu_supports("avx2") ? checksum_avx2(data, bytes) : XXH3_64bits(data, bytes);
}

}  // namespace planwright::planfmt
