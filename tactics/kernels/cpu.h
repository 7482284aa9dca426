// The CPU this process runs on. Reads CPUID and XCR0, and asks Linux for leave to use AMX where there is one.
#ifndef PLANWRIGHT_TACTICS_KERNELS_CPU_H_
#define PLANWRIGHT_TACTICS_KERNELS_CPU_H_

#include <cstddef>

#include "tactics/kernels/kernel.h"

namespace planwright {

// The highest tier that this CPU and operating system (XCR0) run. From the first call on the process may use AMX, if
// it is that.
Isa detect_isa();

struct CacheSizes {
  size_t l1d = 0, l2 = 0, l3 = 0;  // bytes; of one core, except l3
};
CacheSizes cache_sizes();

// Writes "GenuineIntel 6/207/2 avx512vnni L1d=48K L2=2048K L3=266240K", the same on machines where the same tactic
// wins, into `text` (cut at `size` - 1 characters).
void describe_cpu(char* text, size_t size);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_CPU_H_
