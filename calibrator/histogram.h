// The second pass of calibration: how often a tensor's values have which magnitude.
#ifndef PLANWRIGHT_CALIBRATOR_HISTOGRAM_H_
#define PLANWRIGHT_CALIBRATOR_HISTOGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace planwright::calibrator {

inline constexpr int kBins = 2048;

// Bin i of kBins holds the magnitudes from i * limit / kBins on and below the next one's; the last also the limit.
// Which bin a value belongs to is exact, and counts are integers: the same to the bit in whatever order and pieces
// values came.
class Histogram {
 public:
  // `limit`: the largest magnitude, of the first pass; 0: all values are 0, and counted in bin 0.
  explicit Histogram(float limit);
  // As add() left it.
  Histogram(float limit, std::vector<uint64_t> counts) : limit_(limit), counts_(std::move(counts)) {}

  // NaN and infinities are left out, as in the first pass. Throws Error(kPrecondition) for a magnitude past the limit:
  // the second pass saw other data. `tensor` is its name.
  void add(std::span<const float> values, const std::string& tensor);
  // Of another one of the same limit.
  void merge(const Histogram& other);

  float limit() const { return limit_; }
  const std::vector<uint64_t>& counts() const { return counts_; }  // kBins of them
  uint64_t total() const;
  // The magnitude at which the bin begins, in float; of kBins: the limit.
  float edge(double bin) const { return static_cast<float>(bin * static_cast<double>(limit_) / kBins); }
  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  float limit_;
  std::vector<uint64_t> counts_;
};

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_HISTOGRAM_H_
