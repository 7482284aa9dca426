// Lines of the log: progress, warnings, errors.
#ifndef PLANWRIGHT_APPS_COMMON_LOG_H_
#define PLANWRIGHT_APPS_COMMON_LOG_H_

#include <string>

namespace planwright::apps {

// "[W] text" on stderr, after what was printed on stdout before it: a terminal or a log that holds both shows them in
// the order they were said.
void log_line(char level, const std::string& text);

inline void log_warning(const std::string& text) { log_line('W', text); }

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_LOG_H_
