// thresholds: what each calibrator makes of tensors.
//
//   thresholds FILE.npz      prints a line for each array of fp32: its name, the ends of its range, then every
//                            calibrator's threshold, and scale and zero point of uint8 and of int8 at the largest
//                            magnitude
#include "calibrator/thresholds.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "calibrator/quantization.h"
#include "calibrator/samples.h"
#include "calibrator/thresholds.h"

namespace planwright::calibrator {
namespace {

std::span<const float> values_of(const ir::Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)};
}

void print_thresholds(const std::string& path, const std::string& name) {
  SampleSource source(path, {{name, DType::kF32, {kAnyLength}}});
  Range range;
  for (Sample sample; source.next(&sample);) range.add(values_of(sample.at(name)));
  source.rewind();
  Histogram histogram(range.limit());
  for (Sample sample; source.next(&sample);) histogram.add(values_of(sample.at(name)), name);
  fmt::print("{} {:a} {:a}", name, range.low, range.high);
  for (const Calibrator calibrator : kCalibrators) fmt::print(" {:a}", threshold_of(calibrator, histogram));
  const Quantization unsigned_levels = quantize_asymmetric(range, range.limit());
  fmt::print(" {:a} {} {:a}\n", unsigned_levels.scale, unsigned_levels.zero, quantize_symmetric(range.limit()).scale);
}

}  // namespace
}  // namespace planwright::calibrator

int main(int argc, char** argv) {
  try {
    if (argc < 3) {
      fmt::print(stderr, "usage: thresholds PATH NAME ...\n");
      return 2;
    }
    for (int i = 2; i < argc; ++i) planwright::calibrator::print_thresholds(argv[1], argv[i]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
