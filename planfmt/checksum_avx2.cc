// Compiled with -mavx2, of which xxhash makes use.
#include <xxhash.h>

#include "planfmt/checksum.h"

namespace planwright::planfmt {

uint64_t checksum_avx2(const std::byte* data, size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace planwright::planfmt
