#include "apps/common/shape_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "apps/common/console.h"
#include "apps/common/flag_names.h"
#include "schemas/types/dtype.h"

namespace planwright::apps {
namespace {

// Splits at commas that are not inside single quotes.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (c == ',' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The most numbers a spec may have: the values of a shape input.
constexpr size_t kMaxNumbers = 64;

std::optional<std::vector<int64_t>> read_numbers(const std::string& text) {
  if (text.empty() || text == "scalar") return std::vector<int64_t>{};
  std::vector<int64_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    int64_t number = 0;
    const auto [stop, failure] = std::from_chars(text.data() + at, text.data() + end, number);
    if (failure != std::errc() || stop != text.data() + end) return std::nullopt;
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

std::vector<int64_t> parse_numbers(const std::string& text, const std::string& part, const std::string& flag) {
  std::optional<std::vector<int64_t>> numbers = read_numbers(text);
  if (!numbers) {
    throw UsageError(
        fmt::format("{}: '{}' is no list of dimensions in '{}'; write name:1x3x224x224", flag, text, part));
  }
  if (numbers->size() > kMaxNumbers) {
    throw UsageError(fmt::format("{}: '{}' has {} numbers; the most is {}", flag, part, numbers->size(), kMaxNumbers));
  }
  return *std::move(numbers);
}

// "1x3x48x192": numbers, and no name that they are for.
bool is_nameless(const std::string& part) {
  return !part.empty() && part != "scalar" && part.find(':') == std::string::npos && read_numbers(part).has_value();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_names(const std::string& text, const std::string& flag) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split_list(text)) {
    const size_t colon = part.rfind(':');
    std::string name = part.substr(0, colon == std::string::npos ? 0 : colon);
    const bool quoted = name.size() >= 2 && name.front() == '\'' && name.back() == '\'';
    if (quoted) name = name.substr(1, name.size() - 2);
    if (name.empty()) throw UsageError(fmt::format("{}: '{}' is not name:value", flag, part));
    pairs.emplace_back(name, part.substr(colon + 1));
  }
  return pairs;
}

std::vector<ShapeSpec> parse_shapes(const std::string& text, const std::string& flag) {
  std::vector<ShapeSpec> specs;
  for (const std::string& part : split_list(text)) {
    if (is_nameless(part)) {
      specs.push_back({"", parse_numbers(part, part, flag)});
      continue;
    }
    const auto [name, value] = parse_names(part, flag).front();
    if (std::count(name.begin(), name.end(), '*') > 1) {
      throw UsageError(fmt::format("{}: '{}' has more than one *", flag, name));
    }
    specs.push_back({name, parse_numbers(value, name + ":" + value, flag)});
  }
  check_repeats(specs, flag);
  return specs;
}

void check_repeats(const std::vector<ShapeSpec>& specs, const std::string& flag) {
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (specs[i].pattern.empty() || specs[i].pattern != specs[j].pattern) continue;
      throw UsageError(fmt::format("{} gives '{}' twice, {} and {}: which one?", flag, specs[i].pattern,
                                   format_values(specs[j].dims), format_values(specs[i].dims)));
    }
  }
}

void check_dims(const ShapeSpec& spec, const std::string& flag) {
  if (spec.dims.size() > static_cast<size_t>(kMaxRank)) {
    throw UsageError(fmt::format("{}: '{}:{}' has {} dimensions; the most is {}", flag, spec.pattern,
                                 format_values(spec.dims), spec.dims.size(), kMaxRank));
  }
  for (const int64_t dim : spec.dims) {
    if (dim >= 0) continue;
    throw UsageError(fmt::format("{}: '{}:{}': a dimension cannot be {}; only the values of shape inputs can", flag,
                                 spec.pattern, format_values(spec.dims), dim));
  }
}

bool matches(const std::string& pattern, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern == name;
  const size_t tail = pattern.size() - star - 1;
  return name.size() >= star + tail && name.compare(0, star, pattern, 0, star) == 0 &&
         name.compare(name.size() - tail, tail, pattern, star + 1, tail) == 0;
}

const ShapeSpec* find_shape(const std::vector<ShapeSpec>& specs, const std::string& name) {
  const ShapeSpec* found = nullptr;
  for (const ShapeSpec& spec : specs) {
    if (matches(spec.pattern, name)) found = &spec;
  }
  return found;
}

void check_names(const std::vector<ShapeSpec>& specs, const std::vector<std::string>& names, const std::string& flag) {
  for (const ShapeSpec& spec : specs) {
    if (spec.pattern.empty()) {
      const std::string shape = format_values(spec.dims);
      throw UsageError(names.size() == 1
                           ? fmt::format("{0}={1} names no input: write {0}={2}:{1}", flag, shape, names.front())
                           : fmt::format("{0}={1} names no input: write {0}=NAME:{1}; the inputs are: {2}", flag, shape,
                                         fmt::join(names, ", ")));
    }
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return matches(spec.pattern, name); })) {
      continue;
    }
    const std::string close = nearest(spec.pattern, names);
    throw UsageError(fmt::format(
        "{}: the network has no input '{}'; {}", flag, spec.pattern,
        close.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", close)));
  }
}

std::string format_dims(const std::vector<int64_t>& dims) {
  if (dims.empty()) return "scalar";
  std::string text;
  for (const int64_t dim : dims) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

std::string format_values(const std::vector<int64_t>& values) {
  return values.empty() ? "scalar" : fmt::format("{}", fmt::join(values, "x"));
}

uint64_t parse_size(const std::string& text, const std::string& flag) {
  double number = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix(stop, text.data() + text.size());
  double unit = 0;
  if (suffix == "B") unit = 1;
  if (suffix == "K") unit = 1024.0;
  if (suffix.empty() || suffix == "M") unit = 1024.0 * 1024;
  if (suffix == "G") unit = 1024.0 * 1024 * 1024;
  const double bytes = std::floor(number * unit);
  if (failure != std::errc() || unit == 0 || !(bytes >= 0) || bytes >= 9e18) {
    throw UsageError(fmt::format("{}: '{}' is no size; write a number of MiB, or one with B, K, M or G", flag, text));
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace planwright::apps
