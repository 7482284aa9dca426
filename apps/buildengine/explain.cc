#include "apps/buildengine/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"

namespace planwright::apps {
namespace {

// Names that a message lists where none is near.
constexpr size_t kListed = 5;

bool contains(const std::string& name, const std::string& text) { return name.find(text) != std::string::npos; }

// In columns: the time, how far it may be off.
std::string time_text(const tactics::ExplainedTactic& tactic) {
  const std::string time = tactic.time_us > 0 ? fmt::format("{:.1f} us", tactic.time_us) : "-";
  const std::string spread = tactic.spread > 0 ? fmt::format("+-{:.1f} %", tactic.spread * 100) : "";
  return fmt::format("{:>12} {:>9}", time, spread);
}

std::string layer_text(const tactics::Explanation& explanation, bool names_profile) {
  std::string text =
      fmt::format("{}{} ({}): {}\n", names_profile ? fmt::format("profile {}: ", explanation.profile) : "",
                  explanation.layer, explanation.op, explanation.basis);
  size_t width = 0;
  for (const tactics::ExplainedTactic& tactic : explanation.tactics) width = std::max(width, tactic.name.size());
  for (const tactics::ExplainedTactic& tactic : explanation.tactics) {
    std::string line = fmt::format("  {}{}  {:{}}  {}", tactic.is_chosen ? '*' : ' ', time_text(tactic), tactic.name,
                                   width, tactic.remark);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  for (const auto& [reason, kernels] : explanation.refused_by) {
    text += fmt::format("    refused: {}: {}\n", kernels, reason);
  }
  return text;
}

}  // namespace

void check_explained(const std::string& text, const std::vector<std::string>& layers) {
  if (std::any_of(layers.begin(), layers.end(), [&](const std::string& name) { return contains(name, text); })) return;
  const std::string close = nearest(text, layers);
  const std::vector<std::string> first(layers.begin(), layers.begin() + std::min(layers.size(), kListed));
  throw UsageError(
      fmt::format("--explain: no layer's name contains '{}'; {}", text,
                  !close.empty()  ? fmt::format("did you mean '{}'?", close)
                  : first.empty() ? "the engine has no layers with tactics"
                                  : fmt::format("there are {}{}; --explain without a name shows all",
                                                fmt::join(first, ", "), layers.size() > kListed ? " and others" : "")));
}

std::string explanation_text(const std::vector<tactics::Explanation>& explanations, const std::string& text) {
  const bool names_profiles = !explanations.empty() && explanations.back().profile > 0;
  std::string all = "\n=== Tactics (* chosen) ===\n";
  for (const tactics::Explanation& explanation : explanations) {
    if (contains(explanation.layer, text)) all += layer_text(explanation, names_profiles);
  }
  return all;
}

}  // namespace planwright::apps
