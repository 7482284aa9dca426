#include "apps/buildengine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "apps/common/log.h"

namespace planwright::apps {
Progress::Progress(bool quiet, bool verbose)
    : quiet_(quiet), verbose_(verbose), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { end_line(); }

void Progress::say(const std::string& text) {
  if (quiet_) return;
  end_line();
  log_line('I', text);
}

void Progress::detail(const std::string& text) {
  if (!verbose_ || quiet_) return;
  end_line();
  log_line('V', text);
}

void Progress::warn(const std::string& text) {
  if (!warned_.insert(text).second) return;
  end_line();
  log_warning(text);
}

void Progress::tuning(size_t done, size_t total, const std::string& layer) {
  update(done, total, fmt::format("tuning {}/{}: {:.60}", done, total, layer),
         fmt::format("tuning: {} of {} distinct layer{}", done, total, total == 1 ? "" : "s"));
}

void Progress::step(const std::string& what, size_t done, size_t total) {
  update(done, total, fmt::format("{} {}/{}", what, done, total), fmt::format("{}: {} of {}", what, done, total));
}

void Progress::update(size_t done, size_t total, const std::string& line, const std::string& logged) {
  if (quiet_ || total == 0) return;
  if (terminal_) {
    std::fflush(stdout);
    fmt::print(stderr, "\r\033[K[I] {}", line);
    std::fflush(stderr);
    line_open_ = true;
    return;
  }
  const size_t tenth = 10 * done / total;
  if (tenth == last_tenth_) return;
  last_tenth_ = tenth;
  log_line('I', logged);
}

void Progress::end_line() {
  if (line_open_) fmt::print(stderr, "\n");
  line_open_ = false;
}

}  // namespace planwright::apps
