#include "apps/common/log.h"

#include <fmt/format.h>

#include <cstdio>

namespace planwright::apps {

void log_line(char level, const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "[{}] {}\n", level, text);
}

}  // namespace planwright::apps
