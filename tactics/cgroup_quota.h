// How much CPU time the container allows this process.
#ifndef PLANWRIGHT_TACTICS_CGROUP_QUOTA_H_
#define PLANWRIGHT_TACTICS_CGROUP_QUOTA_H_

#include <string>

namespace planwright::tactics {

// Cores' worth of time per second, the least over the process's cgroup and its ancestors (a quota of any of them
// holds); 0 where there is none. `membership` is /proc/self/cgroup, `mount` is where cgroups are mounted (v2, or v1
// with its "cpu" or "cpu,cpuacct" folder).
double cgroup_cpu_quota(const std::string& membership, const std::string& mount);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_CGROUP_QUOTA_H_
