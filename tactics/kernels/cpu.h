// The CPU this process runs on. Reads CPUID and XCR0 only, until AMX is asked for.
#ifndef PLANWRIGHT_TACTICS_KERNELS_CPU_H_
#define PLANWRIGHT_TACTICS_KERNELS_CPU_H_

#include <cstddef>

#include "tactics/kernels/kernel.h"

namespace planwright {

// The highest tier that this CPU and operating system (XCR0) run.
Isa detect_isa();

// Makes ready for code of a tier that the CPU runs. Only AMX needs it, Linux saves tile registers of processes only
// that asked for them. It refuses a process one of whose signal stacks (sigaltstack) is too small for 8 KiB more, and
// the process may make no such stack from then on: to be called where AMX is needed, not where it might be.
bool enable_isa(Isa isa);

struct CacheSizes {
  size_t l1d = 0, l2 = 0, l3 = 0;  // bytes; of one core, except l3
};
CacheSizes cache_sizes();

// Writes "GenuineIntel 6/207/2 avx512vnni L1d=48K L2=2048K L3=266240K", the same on machines where the same tactic
// wins, into `text` (cut at `size` - 1 characters).
void describe_cpu(char* text, size_t size);

}  // namespace planwright

#endif  // PLANWRIGHT_TACTICS_KERNELS_CPU_H_
