#include "calibrator/calibration_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "calibrator/arrays/byte_stream.h"
#include "calibrator/tensorrt_cache.h"
#include "planfmt/atomic_file.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {
namespace {

// A tensor takes 16 KB, a model of 1,000 of them 16 MB; what is larger is no calibration cache.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// About what a tensor takes in the file.
uint64_t size_of(const TensorCalibration& tensor) {
  uint64_t bytes = 128 + tensor.name.size() + (tensor.histogram ? kBins * sizeof(uint64_t) : 0) +
                   tensor.factors.size() * sizeof(float);
  for (const auto& [calibrator, magnitude] : tensor.thresholds) bytes += 48 + calibrator.size();
  return bytes;
}

// Why nobody may replace a file that begins so.
std::string refusal_of(const std::vector<std::byte>& bytes) {
  if (is_tensorrt_cache({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    return "is TensorRT's calibration cache, which says nothing of the structure that its names stand for";
  }
  return "is not a calibration cache";
}

}  // namespace

CalibrationCache::CalibrationCache(std::string path, Warn warn) : path_(std::move(path)), warn_(std::move(warn)) {
  if (!path_.empty()) known_ = read_file();
}

Calibrations CalibrationCache::read_file() const {
  std::error_code problem;
  if (!std::filesystem::exists(path_, problem)) return {};
  arrays::File file(path_);
  std::vector<std::byte> bytes(file.size() > kMostBytes ? 0 : file.size());
  if (!bytes.empty()) file.read(bytes.data(), bytes.size());
  if (file.size() > kMostBytes || !is_calibration_file(bytes)) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: {}; it is kept as it is: name another file", path_, refusal_of(bytes)));
  }
  Calibrations calibrations;
  if (const Status status = parse_calibrations(bytes, &calibrations); !status.ok() && warn_) {
    warn_(fmt::format("calibration cache {}: {}; ignored, and replaced when this build has calibrated", path_,
                      last_error()));
  }
  return calibrations;
}

const TensorCalibration* CalibrationCache::find(uint64_t key) const {
  const auto it = known_.find(key);
  return it == known_.end() ? nullptr : &it->second;
}

std::optional<float> CalibrationCache::find_threshold(uint64_t key, const std::string& calibrator) const {
  const TensorCalibration* tensor = find(key);
  if (tensor == nullptr) return std::nullopt;
  if (const auto it = tensor->thresholds.find(calibrator); it != tensor->thresholds.end()) return it->second;
  const std::optional<Calibrator> known = parse_calibrator(calibrator);
  if (!known || !tensor->histogram) return std::nullopt;
  return threshold_of(*known, *tensor->histogram);
}

void CalibrationCache::put(uint64_t key, TensorCalibration tensor) {
  added_[key] = tensor;
  known_[key] = std::move(tensor);
}

void CalibrationCache::save() {
  if (path_.empty() || added_.empty()) return;
  Calibrations all = read_file();
  for (const auto& [key, tensor] : added_) all[key] = tensor;
  uint64_t size = 0;
  for (const auto& [key, tensor] : all) size += size_of(tensor);
  if (size > kMostBytes) {
    throw Error(StatusCode::kResource, fmt::format("calibration cache {}: {} tensors are more than one file may hold; "
                                                   "begin a new one",
                                                   path_, all.size()));
  }
  const std::vector<std::byte> bytes = calibration_bytes(all);
  planfmt::AtomicFile file;
  throw_if_error(file.create(path_), "calibration cache: ");
  throw_if_error(file.write(bytes.data(), bytes.size()), "calibration cache: ");
  throw_if_error(file.commit(), "calibration cache: ");
  added_.clear();
}

}  // namespace planwright::calibrator
