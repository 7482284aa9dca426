#include "tactics/fingerprint.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "tactics/cgroup_quota.h"
#include "tactics/kernels/cpu.h"

namespace planwright::tactics {
namespace {

// The CPUs of this process's affinity mask.
std::vector<int> allowed_cpus() {
  // Sized for machines past the 1,024 CPUs of a plain cpu_set_t; the system refuses a mask smaller than its own.
  for (int capacity = 1024; capacity <= 65536; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    std::vector<int> cpus;
    if (sched_getaffinity(0, size, set) == 0) {
      for (int cpu = 0; cpu < capacity; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

// Package and core of a CPU: equal for the hardware threads of one core. A CPU that the system does not place is a
// core of its own.
std::pair<int, int> core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::ifstream package_file(folder + "physical_package_id"), core_file(folder + "core_id");
  int package = 0, core = 0;
  if (package_file >> package && core_file >> core) return {package, core};
  return {-1, cpu};
}

int allowed_cores() {
  std::set<std::pair<int, int>> cores;
  for (const int cpu : allowed_cpus()) cores.insert(core_of(cpu));
  return static_cast<int>(cores.size());
}

}  // namespace

std::string device_fingerprint() {
  char text[256];
  describe_cpu(text, sizeof text);
  return std::string("cpu:") + text;
}

int usable_cores() {
  int cores = allowed_cores();
  if (const double quota = cgroup_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"); quota > 0) {
    // A quota of 1.5 cores runs two threads three quarters of the time: rounding down avoids being throttled.
    cores = std::min(cores, static_cast<int>(std::floor(quota)));
  }
  return std::max(cores, 1);
}

}  // namespace planwright::tactics
