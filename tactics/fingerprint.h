// What device this is, as the engine and the timing cache record it.
#ifndef PLANWRIGHT_TACTICS_FINGERPRINT_H_
#define PLANWRIGHT_TACTICS_FINGERPRINT_H_

#include <string>

namespace planwright::tactics {

// "cpu:" and describe_cpu()'s text (tactics/kernels/cpu.h).
std::string device_fingerprint();

// Cores this process may use: affinity mask and cgroup quota considered, at least 1.
int usable_cores();

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_FINGERPRINT_H_
