// Libraries of custom operators (planwright/plugin.h).
#ifndef PLANWRIGHT_APPS_COMMON_PLUGINS_H_
#define PLANWRIGHT_APPS_COMMON_PLUGINS_H_

#include <string>
#include <vector>

namespace planwright::apps {

// Loads each library, for the process's life, and registers its operators. Throws Error naming the file and what to do:
// kIo where it cannot be loaded, kInvalid where it is no plugin or its operators cannot be registered, kIncompatible
// where it was made for another ABI.
void load_plugins(const std::vector<std::string>& paths);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_PLUGINS_H_
