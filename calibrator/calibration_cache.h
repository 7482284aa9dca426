// What calibration found, kept from build to build (--calib).
#ifndef PLANWRIGHT_CALIBRATOR_CALIBRATION_CACHE_H_
#define PLANWRIGHT_CALIBRATOR_CALIBRATION_CACHE_H_

#include <functional>
#include <optional>
#include <string>

#include "calibrator/calibration_file.h"
#include "calibrator/thresholds.h"

namespace planwright::calibrator {

class CalibrationCache {
 public:
  using Warn = std::function<void(const std::string&)>;

  // What the file at `path` holds; empty where there is no file, or it is damaged or of another version, which is one
  // warning. An empty `path` is a cache of this process. Throws Error(kInvalid) for a file that is something else,
  // which save() would destroy, and Error(kIo).
  CalibrationCache(std::string path, Warn warn);

  // Of the tensor that is produced by what has this hash; null where none is known.
  const TensorCalibration* find(uint64_t key) const;
  // What was decided for the tensor under the calibrator's name, else what the calibrator of that name makes of its
  // histogram; nothing where there is neither.
  std::optional<float> find_threshold(uint64_t key, const std::string& calibrator) const;

  // Replaces what was known of the tensor.
  void put(uint64_t key, TensorCalibration tensor);

  // Adds what put() was given to what the file now holds, atomically; of two builders who save at the same moment the
  // later one's stays. Does nothing without a path or anything new. Throws Error: kIo; kInvalid, where the file became
  // something else; kResource past a GiB.
  void save();

 private:
  // Of the file, with a warning where that is ignored.
  Calibrations read_file() const;

  std::string path_;
  Warn warn_;
  Calibrations known_;
  Calibrations added_;  // those that are not in the file
};

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_CALIBRATION_CACHE_H_
