#include "apps/common/log.h"

#include <fmt/format.h>

#include <cstdio>

namespace planwright::apps {

void log_line(char level, const std::string& text) {
  // What a model or an engine calls its tensors must not steer the terminal.
  std::string shown;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_control = (code < ' ' && c != '\n' && c != '\t') || code == 0x7F;
    shown += is_control ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  std::fflush(stdout);
  fmt::print(stderr, "[{}] {}\n", level, shown);
}

}  // namespace planwright::apps
