// What a build with --int8 found of each layer that could be int8.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_SENSITIVITY_H_
#define PLANWRIGHT_APPS_BUILDENGINE_SENSITIVITY_H_

#include <optional>
#include <string>
#include <vector>

namespace planwright::apps {

struct LayerSensitivity {
  std::string name;
  std::optional<double> drop;     // of an engine in which it alone is int8; measured where all together are too far off
  std::optional<double> gain_us;  // by which the engine is slower where it is in floats; of layers that were tried
  bool is_int8 = false;
};

// A table, a line each, its head first: layers by their drop, the largest first, then those whose drop was not
// measured, by their gain; nothing for no layers.
std::vector<std::string> sensitivity_table(std::vector<LayerSensitivity> layers);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_SENSITIVITY_H_
