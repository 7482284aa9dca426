#include "apps/common/flag_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = name.size() / 2 + 1;  // further than that is another word
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

bool parse_flags(CLI::App& app, int argc, char** argv, const std::vector<KnownFlag>& known) {
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const std::string& extra : app.remaining()) {
    const std::string name = extra.substr(0, extra.find('='));
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const KnownFlag& flag) { return name == flag.name; });
    if (found != known.end()) throw UsageError(fmt::format("{} is not available: {}", name, found->advice));
    const std::string close = nearest(name, flags_of(app));
    throw UsageError(fmt::format("unknown flag {}{}", name,
                                 close.empty() ? "; --help lists them" : fmt::format("; did you mean {}?", close)));
  }
  return true;
}

}  // namespace planwright::apps
