#include "tactics/cgroup_quota.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace planwright::tactics {
namespace {

// v2's cpu.max: "QUOTA PERIOD", in microseconds, or "max PERIOD".
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

// v1: two files, in microseconds; a quota of -1 is none.
double quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : 0;
}

double least(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

// The least quota of `path` below `root` and of every folder above it, `root` included. In a container `path` is often
// that of the host and not visible below the mount: its folders then have no file and count for nothing.
double least_up_to_root(const std::string& root, std::string path, double (*quota_of)(const std::string&)) {
  double quota = quota_of(root);
  while (!path.empty() && path != "/") {
    quota = least(quota, quota_of(root + path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return quota;
}

bool has_controller(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string controller; std::getline(list, controller, ',');) {
    if (controller == wanted) return true;
  }
  return false;
}

}  // namespace

double cgroup_cpu_quota(const std::string& membership, const std::string& mount) {
  double quota = 0;
  std::ifstream file(membership);
  // Lines are "hierarchy:controllers:path"; v2's has hierarchy 0 and no controllers.
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      quota = least(quota, least_up_to_root(mount, path, quota_v2));
    } else if (has_controller(controllers, "cpu")) {
      for (const char* folder : {"/cpu", "/cpu,cpuacct"}) {
        quota = least(quota, least_up_to_root(mount + folder, path, quota_v1));
      }
    }
  }
  return quota;
}

}  // namespace planwright::tactics
