// Refusing flags by name.
#ifndef PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_
#define PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace planwright::apps {

// A flag that users of such tools know and that is not here (yet): what to say, what to use.
struct KnownFlag {
  const char* name;    // "--int8"
  const char* advice;  // "int8 is not built yet; fp32 engines are"
};

// The flags that only one of the programs has: the other says where they belong. A test compares them with --help.
extern const std::vector<std::string> kBuildengineFlags, kRunengineFlags;

// Values of flags: a whole number in [low, high], a finite number that is at least `low`. Messages name the bounds that
// there are.
CLI::Validator whole_number(int64_t low, int64_t high = INT32_MAX);
CLI::Validator real_number(double low, double high = HUGE_VAL);

// The candidate with the least edit distance to `name`; empty when none is close.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// Parses the command line into `app`. Throws UsageError: for an unknown flag naming the nearest valid one or the
// program that has it, for one of `known` with its advice, for a missing value, for a bad one in the validator's words.
// Returns false after printing --help or --version.
bool parse_flags(CLI::App& app, int argc, char** argv, const std::vector<KnownFlag>& known);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_FLAG_NAMES_H_
