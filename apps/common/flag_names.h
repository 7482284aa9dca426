// Refusing flags by name.
#ifndef PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_
#define PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace planwright::apps {

// A flag that users of such tools know and that is not here (yet): what to say, what to use.
struct KnownFlag {
  const char* name;    // "--int8"
  const char* advice;  // "int8 is not built yet; fp32 engines are"
};

// The candidate with the least edit distance to `name`; empty when none is close.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// Parses the command line into `app`. Throws UsageError: for an unknown flag naming the nearest valid one, for one of
// `known` with its advice, for a bad value in CLI11's words. Returns false after printing --help or --version.
bool parse_flags(CLI::App& app, int argc, char** argv, const std::vector<KnownFlag>& known);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_
