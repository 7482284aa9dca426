// What device this is, as the engine and the timing cache record it.
#ifndef PLANWRIGHT_TACTICS_FINGERPRINT_H_
#define PLANWRIGHT_TACTICS_FINGERPRINT_H_

#include <string>

namespace planwright::tactics {

// "cpu:" and describe_cpu()'s text (tactics/kernels/cpu.h).
std::string device_fingerprint();

// Physical cores this process may use (two hardware threads of one core count once: fp32 kernels fill a core alone),
// affinity mask and cgroup quota considered; at least 1.
int usable_cores();

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_FINGERPRINT_H_
