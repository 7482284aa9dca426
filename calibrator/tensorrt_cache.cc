#include "calibrator/tensorrt_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "calibrator/arrays/byte_stream.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {
namespace {

constexpr std::string_view kStart = "TRT-";
constexpr float kMostLevel = 127;
constexpr size_t kHexDigits = 8;
// A tensor takes some 50 bytes, so that is a million of them.
constexpr uint64_t kMostBytes = 64 << 20;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& why) {
  throw Error(StatusCode::kInvalid, fmt::format("{}: line {}: {}", path, line, why));
}

bool is_scale(float scale) { return std::isnormal(scale) && scale > 0; }

void parse_first_line(const std::string& path, std::string_view line, TensorRtCache& cache) {
  if (!is_tensorrt_cache(line)) refuse(path, 1, "does not begin with 'TRT-', as TensorRT's calibration cache does");
  line.remove_prefix(kStart.size());
  const size_t dash = line.find('-');
  const std::string_view version = line.substr(0, dash);
  if (dash == std::string_view::npos || version.empty() ||
      version.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(path, 1, "is not 'TRT-<version>-<algorithm>'");
  }
  cache.version = version;
  cache.algorithm = line.substr(dash + 1);
}

void parse_scale(const std::string& path, int number, std::string_view line, TensorRtCache& cache) {
  const size_t colon = line.rfind(": ");  // names may hold colons too
  if (colon == std::string_view::npos || colon == 0) refuse(path, number, "is not 'name: scale'");
  const std::string name(line.substr(0, colon));
  const std::string_view digits = line.substr(colon + 2);
  uint32_t bits = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (problem != std::errc() || end != digits.data() + digits.size() || digits.size() > kHexDigits) {
    refuse(path, number, fmt::format("the scale of '{}' is not a float in hexadecimal", name));
  }
  const auto scale = std::bit_cast<float>(bits);
  if (!is_scale(scale)) refuse(path, number, fmt::format("the scale of '{}' is {}", name, scale));
  if (!cache.scales.emplace(name, scale).second) refuse(path, number, fmt::format("names '{}' again", name));
}

}  // namespace

bool is_tensorrt_cache(std::string_view text) { return text.starts_with(kStart); }

TensorRtCache parse_tensorrt_cache(const std::string& path, std::string_view text) {
  TensorRtCache cache;
  for (int number = 1; number == 1 || !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      parse_first_line(path, line, cache);
    } else if (!line.empty()) {
      parse_scale(path, number, line, cache);
    }
  }
  return cache;
}

std::optional<TensorRtCache> read_tensorrt_cache(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) return std::nullopt;
  arrays::File file(path);
  std::string text(std::min<uint64_t>(file.size(), kStart.size()), '\0');
  file.read(text.data(), text.size());
  if (!is_tensorrt_cache(text)) return std::nullopt;
  if (file.size() > kMostBytes) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: {} bytes are too many for TensorRT's calibration cache", path, file.size()));
  }
  text.resize(file.size());
  file.seek(0);
  file.read(text.data(), text.size());
  return parse_tensorrt_cache(path, text);
}

std::string format_tensorrt_cache(const TensorRtCache& cache) {
  std::string text = fmt::format("{}{}-{}\n", kStart, cache.version, cache.algorithm);
  for (const auto& [name, scale] : cache.scales) {
    if (name.empty() || name.find_first_of("\r\n") != std::string::npos || !is_scale(scale)) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("TensorRT's calibration cache cannot hold the tensor '{}' with scale {}", name, scale));
    }
    text += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(scale));
  }
  return text;
}

float threshold_of_scale(float scale) { return scale * kMostLevel; }
float scale_of_threshold(float threshold) { return threshold / kMostLevel; }

}  // namespace planwright::calibrator
