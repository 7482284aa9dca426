#include "calibrator/calibration_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrator/channel_factors.h"
#include "planfmt/sealed_file.h"
#include "schemas/calibration_generated.h"
#include "schemas/types/checked.h"

namespace planwright::calibrator {
namespace {

constexpr uint32_t kVersion = 2;  // 1 had no factors
constexpr planfmt::Magic kMagic = {'P', 'W', 'C', 'A', 'L', 'I', 'B', 'R'};

flatbuffers::Offset<calibration::Tensor> write(uint64_t key, const TensorCalibration& tensor,
                                               flatbuffers::FlatBufferBuilder& builder) {
  std::vector<flatbuffers::Offset<calibration::Threshold>> thresholds;
  for (const auto& [calibrator, magnitude] : tensor.thresholds) {
    thresholds.push_back(calibration::CreateThreshold(builder, builder.CreateString(calibrator), magnitude));
  }
  flatbuffers::Offset<flatbuffers::Vector<uint64_t>> histogram = 0;
  if (tensor.histogram) histogram = builder.CreateVector(tensor.histogram->counts());
  flatbuffers::Offset<flatbuffers::Vector<float>> factors = 0;
  if (!tensor.factors.empty()) factors = builder.CreateVector(tensor.factors);
  const Range& range = tensor.range;
  return calibration::CreateTensor(builder, key, builder.CreateString(tensor.name), range.low, range.high, range.count,
                                   range.non_finite, histogram, builder.CreateVector(thresholds), factors);
}

// What a valid FlatBuffer may still get wrong.
class Reader {
 public:
  explicit Reader(size_t size) : room_(size) {}

  // Why it is damaged; null: it is not.
  const char* read(const calibration::Tensor& stored, Calibrations* calibrations) {
    if (!calibrations->empty() && stored.key() <= calibrations->rbegin()->first) return "its keys are in disorder";
    TensorCalibration& tensor = (*calibrations)[stored.key()];
    if (!take(stored.name()->size())) return kShared;
    tensor.name = stored.name()->str();
    tensor.range = {stored.low(), stored.high(), stored.count(), stored.non_finite()};
    if (!is_sound(tensor.range)) return "a range that no calibration gives";
    if (const char* why = read_histogram(stored, &tensor)) return why;
    if (stored.factors() != nullptr) {
      if (!take(stored.factors()->size() * sizeof(float))) return kShared;
      tensor.factors.assign(stored.factors()->begin(), stored.factors()->end());
      const auto is_factor = [](float x) { return x >= kLeastFactor && x <= 1; };
      if (!std::all_of(tensor.factors.begin(), tensor.factors.end(), is_factor)) return "a factor that is none";
    }
    for (const calibration::Threshold* threshold : *stored.thresholds()) {
      if (!take(threshold->calibrator()->size())) return kShared;
      const std::string calibrator = threshold->calibrator()->str();
      if (!tensor.thresholds.empty() && calibrator <= tensor.thresholds.rbegin()->first)
        return "thresholds in disorder";
      if (!(threshold->magnitude() >= 0) || std::isinf(threshold->magnitude())) return "a threshold that is none";
      tensor.thresholds[calibrator] = threshold->magnitude();
    }
    return nullptr;
  }

 private:
  static constexpr const char* kShared = "one part of it stands for several";

  // Tables may share strings and vectors, so that a small file stands for more than memory holds; those of a builder
  // have their own.
  bool take(size_t bytes) {
    if (bytes > room_) return false;
    room_ -= bytes;
    return true;
  }

  static bool is_sound(const Range& range) {
    const bool is_finite = std::isfinite(range.low) && std::isfinite(range.high);
    return is_finite && range.low <= range.high && (range.count > 0 || (range.low == 0 && range.high == 0));
  }

  const char* read_histogram(const calibration::Tensor& stored, TensorCalibration* tensor) {
    if (stored.histogram() == nullptr) return nullptr;
    if (stored.histogram()->size() != kBins) return "a histogram of other than 2,048 bins";
    if (!take(kBins * sizeof(uint64_t))) return kShared;
    std::vector<uint64_t> counts(stored.histogram()->begin(), stored.histogram()->end());
    uint64_t total = 0;
    for (const uint64_t count : counts) {
      if (!checked_add(total, count, &total)) return "a histogram of more values than there can be";
    }
    if (total != tensor->range.count) return "a histogram of other values than its range";
    tensor->histogram.emplace(tensor->range.limit(), std::move(counts));
    return nullptr;
  }

  size_t room_;
};

}  // namespace

std::vector<std::byte> calibration_bytes(const Calibrations& calibrations) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<calibration::Tensor>> tensors;
  for (const auto& [key, tensor] : calibrations) tensors.push_back(write(key, tensor, builder));
  builder.Finish(calibration::CreateCache(builder, kVersion, builder.CreateVector(tensors)));
  return planfmt::sealed(kMagic, builder);
}

bool is_calibration_file(const std::vector<std::byte>& bytes) { return planfmt::is_sealed_as(kMagic, bytes); }

Status parse_calibrations(const std::vector<std::byte>& bytes, Calibrations* calibrations) {
  calibrations->clear();
  const uint8_t* body;
  size_t size;
  PW_RETURN_IF_ERROR(planfmt::unseal(kMagic, "a calibration cache", bytes, &body, &size));
  flatbuffers::Verifier verifier = planfmt::sealed_verifier(body, size);
  if (!calibration::VerifyCacheBuffer(verifier)) {
    return error(StatusCode::kCorrupt, "damaged (not a valid FlatBuffer)");
  }
  const calibration::Cache* cache = calibration::GetCache(body);
  if (cache->version() != kVersion) {
    return error(StatusCode::kIncompatible, "of version %u; this builder reads version %u", cache->version(), kVersion);
  }
  Reader reader(size);
  for (const calibration::Tensor* tensor : *cache->tensors()) {
    if (const char* why = reader.read(*tensor, calibrations)) {
      calibrations->clear();
      return error(StatusCode::kCorrupt, "damaged (%s)", why);
    }
  }
  return kOkStatus;
}

}  // namespace planwright::calibrator
