// Small changes to bytes of which nothing is known.
#ifndef PLANWRIGHT_TESTS_FUZZ_MUTATE_BYTES_H_
#define PLANWRIGHT_TESTS_FUZZ_MUTATE_BYTES_H_

#include <cstdint>
#include <random>
#include <vector>

namespace planwright::tests {

// Changes one thing: bits, a number, a range copied, erased, inserted or taken from `other`. At most `max_size` bytes
// remain.
void mutate(std::vector<uint8_t>* bytes, const std::vector<uint8_t>& other, size_t max_size, std::mt19937& random);

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_FUZZ_MUTATE_BYTES_H_
