// What a long build says while it runs.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_PROGRESS_H_
#define PLANWRIGHT_APPS_BUILDENGINE_PROGRESS_H_

#include <cstddef>
#include <set>
#include <string>

namespace planwright::apps {

// Lines on stderr: one that rewrites itself on a terminal, one each tenth of the way in a log. Silent when quiet.
class Progress {
 public:
  Progress(bool quiet, bool verbose);
  ~Progress();
  void say(const std::string& text);     // always, unless quiet
  void detail(const std::string& text);  // only when verbose
  void warn(const std::string& text);    // also when quiet; the same text once
  void tuning(size_t done, size_t total, const std::string& layer);
  // Of anything else that takes long: "calibrating", 3 of 500.
  void step(const std::string& what, size_t done, size_t total);

 private:
  void end_line();
  // The line on a terminal, or the one in a log, where the work is a tenth further.
  void update(size_t done, size_t total, const std::string& line, const std::string& logged);
  bool quiet_, verbose_, terminal_;
  bool line_open_ = false;
  size_t last_tenth_ = 0;
  std::set<std::string> warned_;
};

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_PROGRESS_H_
