// calibration_dump: what a calibration cache holds.
//
//   calibration_dump FILE
//
// Prints a line for each tensor, of fields between tabs: its key, its name, the ends of its range, how many values are
// finite and how many are not; for each calibrator the threshold and, of uint8, the scale and the zero point that it
// makes; the counts of the histogram; what channels were divided by.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "calibrator/arrays/byte_stream.h"
#include "calibrator/calibration_file.h"
#include "calibrator/quantization.h"
#include "calibrator/thresholds.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {
namespace {

int dump(const std::string& path) {
  arrays::File file(path);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes.data(), bytes.size());
  Calibrations calibrations;
  throw_if_error(parse_calibrations(bytes, &calibrations), path + ": ");
  for (const auto& [key, tensor] : calibrations) {
    const Range& range = tensor.range;
    fmt::print("{:016x}\t{}\t{:a}\t{:a}\t{}\t{}", key, tensor.name, range.low, range.high, range.count,
               range.non_finite);
    for (const Calibrator calibrator : kCalibrators) {
      const float threshold = threshold_of(calibrator, *tensor.histogram);
      const Quantization levels = quantize_asymmetric(range, threshold);
      fmt::print("\t{:a}\t{:a}\t{}", threshold, levels.scale, levels.zero);
    }
    fmt::print("\t{}\t", fmt::join(tensor.histogram->counts(), " "));
    for (const float factor : tensor.factors) fmt::print("{:a} ", factor);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace
}  // namespace planwright::calibrator

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      fmt::print(stderr, "usage: calibration_dump FILE\n");
      return 2;
    }
    return planwright::calibrator::dump(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
