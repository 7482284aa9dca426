// TensorRT's calibration cache: text, scales by the names of tensors.
#ifndef PLANWRIGHT_CALIBRATOR_TENSORRT_CACHE_H_
#define PLANWRIGHT_CALIBRATOR_TENSORRT_CACHE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace planwright::calibrator {

// The first line is "TRT-<version>-<algorithm>", others are "name: scale", the scale as the hexadecimal digits of its
// float.
struct TensorRtCache {
  std::string version = "100300";
  std::string algorithm = "EntropyCalibration2";
  std::map<std::string, float> scales;  // threshold / 127
};

// Whether the text begins as one does.
bool is_tensorrt_cache(std::string_view text);

// `path` is for messages. Throws Error(kInvalid) with the line that is wrong: a scale must be a normal number above 0
// (FAULTS B21).
TensorRtCache parse_tensorrt_cache(const std::string& path, std::string_view text);

// That of a file; nothing where there is no file, or one that does not begin as one does. Throws Error: kIo, kInvalid.
std::optional<TensorRtCache> read_tensorrt_cache(const std::string& path);

// Throws Error(kInvalid) for what the form cannot hold: a name of several lines or none, such a scale.
std::string format_tensorrt_cache(const TensorRtCache& cache);

// What its scale says of a tensor, and the scale that says it.
float threshold_of_scale(float scale);
float scale_of_threshold(float threshold);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_TENSORRT_CACHE_H_
