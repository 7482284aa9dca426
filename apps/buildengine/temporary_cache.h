// A timing cache for the builds of one run, where the user names none.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_TEMPORARY_CACHE_H_
#define PLANWRIGHT_APPS_BUILDENGINE_TEMPORARY_CACHE_H_

#include <string>

namespace planwright::apps {

// A folder of its own, which goes with this.
class TemporaryCache {
 public:
  // Throws Error(kIo).
  TemporaryCache();
  ~TemporaryCache();
  TemporaryCache(const TemporaryCache&) = delete;
  TemporaryCache& operator=(const TemporaryCache&) = delete;
  std::string path() const { return folder_ + "/timing.cache"; }

 private:
  std::string folder_;
};

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_TEMPORARY_CACHE_H_
