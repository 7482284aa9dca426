#include "tests/fuzz/mutate_bytes.h"

#include <algorithm>
#include <cstring>

namespace planwright::tests {
namespace {

using Bytes = std::vector<uint8_t>;

// In [0, limit).
size_t below(std::mt19937& random, size_t limit) { return random() % limit; }

// A place for `width` bytes among `size`, every second time one that a number of that width has in a file.
size_t place(std::mt19937& random, size_t size, size_t width) {
  const size_t at = below(random, size - width + 1);
  return random() % 2 == 0 ? at : at / width * width;
}

// Many changes should be small, a few large; every second one keeps words where words are.
size_t length(std::mt19937& random, size_t limit) {
  const size_t bytes = 1 + below(random, std::min(limit, size_t{1} << below(random, 9)));
  return random() % 2 == 0 || limit < 4 ? bytes : std::min((bytes + 3) / 4 * 4, limit / 4 * 4);
}

// Numbers that checks get wrong: those around powers of two, and around what is there.
void change_number(Bytes* bytes, std::mt19937& random) {
  size_t width = size_t{1} << below(random, 4);
  while (width > bytes->size()) width /= 2;
  uint8_t* const at = bytes->data() + place(random, bytes->size(), width);
  uint64_t number = 0;
  memcpy(&number, at, width);
  const uint64_t step = below(random, 17) - uint64_t{8};
  switch (below(random, 3)) {
    case 0: number += step; break;
    case 1: number = (uint64_t{1} << below(random, width * 8)) + step; break;
    default: number = step; break;
  }
  memcpy(at, &number, width);
}

void insert(Bytes* bytes, const Bytes& from, size_t max_size, std::mt19937& random) {
  const size_t most = std::min(from.size(), max_size - std::min(max_size, bytes->size()));
  if (most == 0) return;
  const size_t count = length(random, most);
  const size_t begin = below(random, from.size() - count + 1);
  const Bytes range(from.begin() + begin, from.begin() + begin + count);  // `from` may be `bytes`
  bytes->insert(bytes->begin() + below(random, bytes->size() + 1), range.begin(), range.end());
}

void overwrite(Bytes* bytes, const Bytes& from, std::mt19937& random) {
  const size_t most = std::min(from.size(), bytes->size());
  if (most == 0) return;
  const size_t count = length(random, most);
  const bool aligned = random() % 2 == 0;
  const auto start = [&](size_t size) { return below(random, size - count + 1) & (aligned ? ~size_t{3} : ~size_t{0}); };
  const size_t source = start(from.size()), target = start(bytes->size());
  memmove(bytes->data() + target, from.data() + source, count);
}

}  // namespace

void mutate(std::vector<uint8_t>* bytes, const std::vector<uint8_t>& other, size_t max_size, std::mt19937& random) {
  if (bytes->empty()) return insert(bytes, other.empty() ? Bytes{0} : other, max_size, random);
  switch (below(random, 10)) {
    case 0: (*bytes)[below(random, bytes->size())] ^= static_cast<uint8_t>(1 << below(random, 8)); break;
    case 1: (*bytes)[below(random, bytes->size())] = static_cast<uint8_t>(random()); break;
    case 2: overwrite(bytes, *bytes, random); break;
    case 3: overwrite(bytes, other, random); break;
    case 4: insert(bytes, *bytes, max_size, random); break;
    case 5: insert(bytes, other, max_size, random); break;
    case 6: {
      const size_t count = length(random, bytes->size());
      const auto begin = bytes->begin() + below(random, bytes->size() - count + 1);
      bytes->erase(begin, begin + count);
      break;
    }
    default: change_number(bytes, random); break;
  }
}

}  // namespace planwright::tests
