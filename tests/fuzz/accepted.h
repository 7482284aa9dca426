// What a fuzz target tells its driver: how many of the inputs got past every check, which is what makes a run worth its
// time.
#ifndef PLANWRIGHT_TESTS_FUZZ_ACCEPTED_H_
#define PLANWRIGHT_TESTS_FUZZ_ACCEPTED_H_

#include <cstdint>

namespace planwright::tests {

inline uint64_t accepted_inputs = 0;

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_FUZZ_ACCEPTED_H_
