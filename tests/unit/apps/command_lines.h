// Command lines for tests of the programs' options.
#ifndef PLANWRIGHT_TESTS_UNIT_APPS_COMMAND_LINES_H_
#define PLANWRIGHT_TESTS_UNIT_APPS_COMMAND_LINES_H_

#include <string>
#include <vector>

#include "apps/common/console.h"

namespace planwright::apps {

// argc and argv of a program's name and these flags.
class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> flags) : words_(std::move(flags)) {
    words_.insert(words_.begin(), "program");
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
  }
  int argc() const { return static_cast<int>(words_.size()); }
  char** argv() { return argv_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

// The words of the UsageError that `body` throws; empty when it throws none.
template <typename Body>
std::string usage_error(const Body& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace planwright::apps

#endif  // PLANWRIGHT_TESTS_UNIT_APPS_COMMAND_LINES_H_
