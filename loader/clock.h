#ifndef PLANWRIGHT_LOADER_CLOCK_H_
#define PLANWRIGHT_LOADER_CLOCK_H_

#include <time.h>

namespace planwright::loader {

// Milliseconds of a clock that only runs forward.
inline double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace planwright::loader

#endif  // PLANWRIGHT_LOADER_CLOCK_H_
