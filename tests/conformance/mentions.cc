#include <cctype>

#include "tests/conformance/run_case.h"

namespace planwright::conformance {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool mentions_any(const std::string& message, const std::vector<std::string>& words) {
  if (words.empty()) return true;
  for (const std::string& word : words) {
    for (size_t at = message.find(word); at != std::string::npos; at = message.find(word, at + 1)) {
      const bool starts = at == 0 || !is_word(message[at - 1]) || !is_word(word.front());
      const size_t end = at + word.size();
      const bool ends = end == message.size() || !is_word(message[end]) || !is_word(word.back());
      if (starts && ends) return true;
    }
  }
  return false;
}

}  // namespace planwright::conformance
