#include "tactics/cgroup_quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace planwright::tactics {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* name;
  const char* membership;
  std::map<std::string, std::string> files;  // below the mount
  double quota;
};

class CgroupQuota : public testing::TestWithParam<Case> {};

TEST_P(CgroupQuota, IsTheLeastOfTheTree) {
  const fs::path folder = fs::path(testing::TempDir()) / ("cgroup_" + std::to_string(getpid()) + GetParam().name);
  fs::create_directories(folder);
  std::ofstream(folder / "membership") << GetParam().membership;
  for (const auto& [path, text] : GetParam().files) {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << text;
  }
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(folder / "membership", folder), GetParam().quota);
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    Systems, CgroupQuota,
    testing::Values(
        Case{"none", "0::/\n", {}, 0}, Case{"v2_unlimited", "0::/\n", {{"cpu.max", "max 100000\n"}}, 0},
        Case{"v2_container", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 1.5},
        Case{"v2_of_a_parent", "0::/a/b\n", {{"a/cpu.max", "200000 100000\n"}, {"a/b/cpu.max", "400000 100000\n"}}, 2},
        Case{"v2_path_of_the_host", "0::/docker/1234\n", {{"cpu.max", "300000 100000\n"}}, 3},
        Case{"v1",
             "5:memory:/\n4:cpu,cpuacct:/\n0::/\n",
             {{"cpu,cpuacct/cpu.cfs_quota_us", "50000\n"}, {"cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
             0.5},
        Case{"v1_unlimited",
             "4:cpu:/x\n",
             {{"cpu/x/cpu.cfs_quota_us", "-1\n"}, {"cpu/x/cpu.cfs_period_us", "100000\n"}},
             0},
        Case{"v1_cpuset_is_not_cpu",
             "4:cpuset:/\n",
             {{"cpu/cpu.cfs_quota_us", "100000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}},
             0},
        Case{"nonsense", "what\n::\n0::/\n", {{"cpu.max", "-5 0\n"}}, 0}),
    [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

}  // namespace
}  // namespace planwright::tactics
