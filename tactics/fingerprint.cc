#include "tactics/fingerprint.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "tactics/cgroup_quota.h"
#include "tactics/kernels/cpu.h"

namespace planwright::tactics {
namespace {

int cores_in_affinity_mask() {
  // Sized for machines past the 1,024 CPUs of a plain cpu_set_t; the kernel refuses a mask smaller than its own.
  for (int cpus = 1024; cpus <= 65536; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const bool known = sched_getaffinity(0, size, set) == 0;
    const int count = known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (known) return count;
  }
  return 1;
}

}  // namespace

std::string device_fingerprint() {
  char text[256];
  describe_cpu(text, sizeof text);
  return std::string("cpu:") + text;
}

int usable_cores() {
  int cores = cores_in_affinity_mask();
  if (const double quota = cgroup_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"); quota > 0) {
    // A quota of 1.5 cores runs two threads three quarters of the time: rounding down avoids being throttled.
    cores = std::min(cores, static_cast<int>(std::floor(quota)));
  }
  return std::max(cores, 1);
}

}  // namespace planwright::tactics
