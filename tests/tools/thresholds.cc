// thresholds: what each calibrator makes of tensors.
//
//   thresholds FILE.npz      prints a line for each array of fp32: its name, the ends of its range, then every
//                            calibrator's threshold, and scale and zero point of uint8 and of int8 at the largest
//                            magnitude
#include "calibrator/thresholds.h"

#include <fmt/format.h>

#include <span>

#include "calibrator/arrays/npz.h"
#include "calibrator/quantization.h"
#include "schemas/types/error.h"

namespace planwright::calibrator {
namespace {

void print_thresholds(const std::string& path) {
  const arrays::NpzArchive archive(path);
  for (const std::string& name : archive.names()) {
    const ir::Tensor tensor = archive.open(name).read_all();
    if (tensor.dtype != DType::kF32) throw Error(StatusCode::kInvalid, fmt::format("{} is not of fp32", name));
    const std::span<const float> values(reinterpret_cast<const float*>(tensor.data.data()),
                                        tensor.data.size() / sizeof(float));
    Range range;
    range.add(values);
    Histogram histogram(range.limit());
    histogram.add(values, name);
    fmt::print("{} {:a} {:a}", name, range.low, range.high);
    for (const Calibrator calibrator : kCalibrators) fmt::print(" {:a}", threshold_of(calibrator, histogram));
    const Quantization unsigned_levels = quantize_asymmetric(range, range.limit());
    fmt::print(" {:a} {} {:a}\n", unsigned_levels.scale, unsigned_levels.zero, quantize_symmetric(range.limit()).scale);
  }
}

}  // namespace
}  // namespace planwright::calibrator

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      fmt::print(stderr, "usage: thresholds FILE.npz\n");
      return 2;
    }
    planwright::calibrator::print_thresholds(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
