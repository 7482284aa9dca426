// The clock that searches and races go by.
#ifndef PLANWRIGHT_TACTICS_CLOCK_H_
#define PLANWRIGHT_TACTICS_CLOCK_H_

#include <chrono>
#include <functional>

namespace planwright::tactics {

// Microseconds since some moment; tests make one up.
using Clock = std::function<double()>;

// The real one: steady, and the same in every process of the machine.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CLOCK_H_
