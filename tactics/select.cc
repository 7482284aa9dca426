#include "tactics/select.h"

#include <fmt/format.h>

#include "schemas/types/error.h"

namespace planwright::tactics {
namespace {

[[noreturn]] void throw_no_candidate(const StepSpec& spec, const std::vector<Refusal>& refusals) {
  std::string reasons;
  for (const Refusal& refusal : refusals) reasons += fmt::format("\n  {}: {}", refusal.kernel->name, refusal.reason);
  throw Error(StatusCode::kResource,
              fmt::format("layer {} ({}): no tactic may run it:{}", spec.name, name_of(spec.op), reasons));
}

}  // namespace

std::vector<Choice> select_tactics(const std::vector<StepSpec>& specs,
                                   const std::vector<std::vector<const StepSpec*>>& corners,
                                   const SearchOptions& options, SearchStats* stats) {
  std::vector<Choice> choices(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<Refusal> refusals;
    const std::vector<Candidate> list = candidates(specs[i], corners[i], options, &refusals);
    if (list.empty()) throw_no_candidate(specs[i], refusals);
    choices[i].candidate = list.front();
  }
  *stats = {};
  return choices;
}

}  // namespace planwright::tactics
