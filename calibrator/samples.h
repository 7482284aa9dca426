// Calibration samples from files (--calibData, --evalData).
#ifndef PLANWRIGHT_CALIBRATOR_SAMPLES_H_
#define PLANWRIGHT_CALIBRATOR_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "builder/ir/interpret.h"
#include "calibrator/arrays/npy.h"

namespace planwright::calibrator {

using Warn = std::function<void(const std::string&)>;

inline constexpr int64_t kAnyLength = -1;

// An array that every sample has: an input of the model, or labels to compare with.
struct InputSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;  // kAnyLength where samples may differ
};

// By input.
using Sample = std::map<std::string, ir::Tensor>;

// The samples of a path, one in memory at a time, in an order that depends on names alone.
//
// The path is an .npz (arrays by input name); an .npy, where there is one input; a folder of such files, taken in the
// order of their names; or a text file that lists some, one a line, relative to its own folder. The first axis of an
// array counts samples: it stands in front of the input's own axes, or is the input's first axis, from which each
// sample then takes as much as that axis is long, 1 where it may have any length. Files may differ in the other dims
// that may. Arrays of other names are left alone.
class SampleSource {
 public:
  // Reads the headers of all arrays. Throws Error: kIo; kInvalid, kUnsupported where a file does not fit the inputs,
  // with the file, the array and what to do (FAULTS B20).
  SampleSource(const std::string& path, std::vector<InputSpec> inputs, Warn warn = {});
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  // The array `label` or `labels` of the first file, where it holds integers and is no input: one for each row of the
  // first input. Another source that is given it too reads it as part of its samples.
  std::optional<InputSpec> find_labels() const;

  // At least one.
  uint64_t count() const { return count_; }

  // The next sample; false behind the last one. One that holds NaN or an infinity is left out, with a warning in the
  // first round; where that leaves none at all, as where a file turns out to be damaged, throws Error (FAULTS B19,
  // B20).
  bool next(Sample* sample);
  // Begins again with the first sample.
  void rewind();

 private:
  // An input's array in one file, and which of its rows are one sample.
  struct OpenArray {
    arrays::ArrayReader reader;
    const InputSpec* input;
    int64_t rows;
    bool has_own_axis;  // in front of the input's
    uint64_t samples;
  };

  void list_files(const std::string& path);
  void list_text(const std::string& path);
  void open_file(const std::string& path);
  void add_array(arrays::ArrayReader reader, const InputSpec& input);
  bool read_sample(Sample* sample);

  const std::vector<InputSpec> inputs_;
  const Warn warn_;
  std::vector<std::string> files_;
  uint64_t count_ = 0;
  size_t next_file_ = 0;
  std::vector<OpenArray> arrays_;  // of the file that is being read
  uint64_t samples_left_ = 0;      // in it
  uint64_t given_ = 0;             // in this round
  bool is_first_round_ = true;
};

}  // namespace planwright::calibrator

#endif  // PLANWRIGHT_CALIBRATOR_SAMPLES_H_
