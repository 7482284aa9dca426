// The bytes of a calibration cache (schemas/calibration.fbs).
#ifndef PLANWRIGHT_CALIBRATOR_CALIBRATION_FILE_H_
#define PLANWRIGHT_CALIBRATOR_CALIBRATION_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/histogram.h"
#include "calibrator/range.h"
#include "schemas/types/status.h"

namespace planwright::calibrator {

// What calibration found of one tensor.
struct TensorCalibration {
  std::string name;  // when it was calibrated, for reports
  Range range;
  std::optional<Histogram> histogram;       // up to the range's limit; every calibrator's threshold can be made of it
  std::map<std::string, float> thresholds;  // by calibrator: what was decided, in place of what the histogram says
  // What each channel was divided by before all of the above, from kLeastFactor to 1 (channel_factors.h); empty: nothing.
  std::vector<float> factors = {};
  friend bool operator==(const TensorCalibration&, const TensorCalibration&) = default;
};

// By a hash of the structure and weights that produce the tensor.
using Calibrations = std::map<uint64_t, TensorCalibration>;

// The same calibrations give the same bytes.
std::vector<std::byte> calibration_bytes(const Calibrations& calibrations);

// Whether the bytes begin as a calibration cache does: what does not is somebody's other file.
bool is_calibration_file(const std::vector<std::byte>& bytes);

// Reads bytes that may be anything. kCorrupt, kIncompatible (another version); `calibrations` is then empty.
Status parse_calibrations(const std::vector<std::byte>& bytes, Calibrations* calibrations);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_CALIBRATION_FILE_H_
