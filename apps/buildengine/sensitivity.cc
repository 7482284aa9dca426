#include "apps/buildengine/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>

namespace planwright::apps {
namespace {

constexpr const char* kRow = "{:>9} {:>10}  {:9}  {}";

bool is_worse(const LayerSensitivity& a, const LayerSensitivity& b) {
  if (a.drop != b.drop) return a.drop > b.drop;  // nullopt is less than any number
  return a.gain_us > b.gain_us;
}

std::string number(const std::optional<double>& value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : "-";
}

}  // namespace

std::vector<std::string> sensitivity_table(std::vector<LayerSensitivity> layers) {
  if (layers.empty()) return {};
  std::stable_sort(layers.begin(), layers.end(), is_worse);
  std::vector<std::string> lines{fmt::format(kRow, "Drop", "Gain(us)", "Computes", "Layer")};
  for (const LayerSensitivity& layer : layers) {
    lines.push_back(fmt::format(kRow, number(layer.drop, "{:.2g}"), number(layer.gain_us, "{:.1f}"),
                                layer.is_int8 ? "in int8" : "in floats", layer.name));
  }
  return lines;
}

}  // namespace planwright::apps
