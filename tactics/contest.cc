#include "tactics/contest.h"

#include <algorithm>
#include <set>

namespace planwright::tactics {

std::string words_for(Outcome outcome, const std::string& reason) {
  switch (outcome) {
    case Outcome::kWrong: return "differs from the reference (" + reason + ")";
    case Outcome::kFailed: return "failed (" + reason + ")";
    case Outcome::kHung: return "hung (" + reason + ")";
    default: return "crashed (" + reason + ")";
  }
}

std::string reason_of(const Contest& contest, size_t index) {
  const bool is_known = index < contest.reasons.size() && !contest.reasons[index].empty();
  return is_known ? contest.reasons[index] : "known from the timing cache";
}

std::vector<std::pair<std::string, std::string>> kernels_by_reason(const std::vector<Refusal>& refusals) {
  std::vector<std::pair<std::string, std::string>> groups;
  std::set<std::pair<std::string, const KernelDescriptor*>> said;  // one kernel's parameter sets may share a reason
  for (const Refusal& refusal : refusals) {
    if (!said.emplace(refusal.reason, refusal.kernel).second) continue;
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == refusal.reason; });
    if (same == groups.end()) {
      groups.emplace_back(refusal.reason, refusal.kernel->name);
    } else {
      same->second += std::string(", ") + refusal.kernel->name;
    }
  }
  return groups;
}

}  // namespace planwright::tactics
