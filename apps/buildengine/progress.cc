#include "apps/buildengine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace planwright::apps {
Progress::Progress(bool quiet, bool verbose)
    : quiet_(quiet), verbose_(verbose), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { end_line(); }

void Progress::say(const std::string& text) {
  if (quiet_) return;
  end_line();
  fmt::print(stderr, "[I] {}\n", text);
}

void Progress::detail(const std::string& text) {
  if (!verbose_ || quiet_) return;
  end_line();
  fmt::print(stderr, "[V] {}\n", text);
}

void Progress::warn(const std::string& text) {
  if (!warned_.insert(text).second) return;
  end_line();
  fmt::print(stderr, "[W] {}\n", text);
}

void Progress::tuning(size_t done, size_t total, const std::string& layer) {
  if (quiet_ || total == 0) return;
  if (terminal_) {
    fmt::print(stderr, "\r\033[K[I] tuning {}/{}: {:.60}", done, total, layer);
    std::fflush(stderr);
    line_open_ = true;
    return;
  }
  const size_t tenth = 10 * done / total;
  if (tenth == last_tenth_) return;
  last_tenth_ = tenth;
  fmt::print(stderr, "[I] tuning: {} of {} layers\n", done, total);
}

void Progress::end_line() {
  if (line_open_) fmt::print(stderr, "\n");
  line_open_ = false;
}

}  // namespace planwright::apps
