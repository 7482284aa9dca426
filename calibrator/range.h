// The first pass of calibration: between which ends a tensor's values lie.
#ifndef PLANWRIGHT_CALIBRATOR_RANGE_H_
#define PLANWRIGHT_CALIBRATOR_RANGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace planwright::calibrator {

// Of all values that were added, the same to the bit in whatever order and pieces they came. NaN and infinities are
// counted and left out.
struct Range {
  float low = 0, high = 0;  // the least and the largest value, -0 as 0; both 0 where there is none
  uint64_t count = 0;       // values that are finite
  uint64_t non_finite = 0;

  void add(std::span<const float> values);
  void merge(const Range& other);
  // The largest magnitude.
  float limit() const;
  friend bool operator==(const Range&, const Range&) = default;
};

// What a user should know of the tensor of that name: values that were left out, or none but zeros; it is quantised all
// the same, with a scale that is defined (FAULTS B19). Nothing where all is well.
std::optional<std::string> find_fault(const std::string& tensor, const Range& range);

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_RANGE_H_
