// Takes one case over the whole road: import, build, write, open, run, compare.
#ifndef PLANWRIGHT_TESTS_CONFORMANCE_RUN_CASE_H_
#define PLANWRIGHT_TESTS_CONFORMANCE_RUN_CASE_H_

#include <string>

#include "tests/conformance/case.h"

namespace planwright::conformance {

enum class Result { kPassed = 0, kRefused, kWrong, kCrashed, kHung };
const char* name_of(Result result);

struct Outcome {
  Result result = Result::kWrong;
  std::string message;
};

// In this process: a crash takes it down. `scratch` is a folder for the engine. Tactics are chosen at level 0.
Outcome run_case(const Case& one, const std::filesystem::path& scratch);

// Whether any of `words` stands in `message` as a whole, quoted or operator-like token.
bool mentions_any(const std::string& message, const std::vector<std::string>& words);

}  // namespace planwright::conformance

#endif  // PLANWRIGHT_TESTS_CONFORMANCE_RUN_CASE_H_
