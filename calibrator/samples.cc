#include "calibrator/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "calibrator/arrays/npz.h"
#include "schemas/types/error.h"
#include "tactics/kernels/reference/element.h"

namespace planwright::calibrator {
namespace fs = std::filesystem;
namespace {

// A list of a million files; what is larger is no list.
constexpr uintmax_t kMostListBytes = uintmax_t{64} << 20;
constexpr const char* kNoSamples = "is no .npz, no .npy and no text file that lists some";

[[noreturn]] void refuse(const std::string& message) { throw Error(StatusCode::kInvalid, message); }

bool is_array_file(const std::string& path) { return path.ends_with(".npy") || path.ends_with(".npz"); }

// "?x3x48x?"; a scalar is "scalar".
std::string format_dims(const std::vector<int64_t>& dims) {
  std::vector<std::string> parts;
  for (const int64_t dim : dims) parts.push_back(dim == kAnyLength ? "?" : std::to_string(dim));
  return parts.empty() ? "scalar" : fmt::format("{}", fmt::join(parts, "x"));
}

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

bool is_finite(const ir::Tensor& tensor) {
  if (!is_float(tensor.dtype)) return true;
  const auto count = static_cast<int64_t>(tensor.data.size() / size_of(tensor.dtype));
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(reference::load<double>(tensor.dtype, tensor.data.data(), i))) return false;
  }
  return true;
}

// The regular files of a folder that hold arrays, by name.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    if (is_array_file(entry->path().string())) files.push_back(entry->path().string());
  }
  if (problem) throw Error(StatusCode::kIo, fmt::format("cannot read the folder {}: {}", folder, problem.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

SampleSource::SampleSource(const std::string& path, std::vector<InputSpec> inputs, Warn warn)
    : inputs_(std::move(inputs)), warn_(std::move(warn)) {
  list_files(path);
  for (const std::string& file : files_) {
    open_file(file);
    count_ += samples_left_;
  }
  arrays_.clear();
  samples_left_ = 0;
  if (count_ == 0) refuse(fmt::format("{}: holds no samples; calibration needs at least one", path));
}

std::optional<InputSpec> SampleSource::find_labels() const {
  if (!files_.front().ends_with(".npz")) return std::nullopt;
  const arrays::NpzArchive archive(files_.front());
  for (const char* name : {"label", "labels"}) {
    const bool is_input =
        std::any_of(inputs_.begin(), inputs_.end(), [&](const InputSpec& input) { return input.name == name; });
    if (is_input || !archive.has(name)) continue;
    const DType type = archive.open(name).dtype();
    if (is_float(type) || type == DType::kBool) continue;
    const std::vector<int64_t>& dims = inputs_.front().dims;
    return InputSpec{name, type, {dims.empty() ? kAnyLength : dims[0]}};
  }
  return std::nullopt;
}

void SampleSource::list_files(const std::string& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) {
    throw Error(StatusCode::kIo,
                fmt::format("cannot read {}: {}; samples are an .npz, a folder of .npy or .npz, or a text file that "
                            "lists them",
                            path, problem ? problem.message() : "no such file or folder"));
  }
  if (fs::is_directory(status)) {
    files_ = files_of(path);
    if (files_.empty()) refuse(fmt::format("{}: holds no .npy or .npz file", path));
  } else if (is_array_file(path)) {
    files_ = {path};
  } else {
    list_text(path);
  }
}

void SampleSource::list_text(const std::string& path) {
  std::error_code problem;
  const uintmax_t size = fs::file_size(path, problem);
  std::ifstream stream(path);
  if (problem || !stream) {
    throw Error(StatusCode::kIo,
                fmt::format("cannot read {}: {}", path, problem ? problem.message() : "it cannot be opened"));
  }
  const fs::path folder = fs::path(path).parent_path();
  std::string line;
  for (int number = 1; size <= kMostListBytes && std::getline(stream, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.find('\0') != std::string::npos) refuse(fmt::format("{}: {}", path, kNoSamples));
    if (line.empty()) continue;
    if (!is_array_file(line)) {
      refuse(
          fmt::format("{}: line {} is '{}', not the name of an .npy or .npz file", path, number, line.substr(0, 200)));
    }
    files_.push_back((folder / line).string());
    if (!fs::exists(files_.back(), problem)) {
      throw Error(StatusCode::kIo, fmt::format("{}: line {}: there is no {}", path, number, files_.back()));
    }
  }
  if (!stream.eof()) refuse(fmt::format("{}: {}", path, kNoSamples));
  if (files_.empty()) refuse(fmt::format("{}: lists no .npy or .npz file", path));
}

void SampleSource::open_file(const std::string& path) {
  arrays_.clear();
  if (path.ends_with(".npz")) {
    const arrays::NpzArchive archive(path);
    for (const InputSpec& input : inputs_) {
      if (!archive.has(input.name)) {
        refuse(fmt::format("{}: has no array '{}', which the model needs; it has: {}. numpy.savez takes arrays by name",
                           path, input.name, quoted(archive.names())));
      }
      add_array(archive.open(input.name), input);
    }
  } else {
    if (inputs_.size() != 1) {
      std::vector<std::string> names;
      for (const InputSpec& input : inputs_) names.push_back(input.name);
      refuse(fmt::format("{}: an .npy serves a model of one input; this needs an .npz of the arrays {}", path,
                         quoted(names)));
    }
    add_array(arrays::ArrayReader(arrays::open_file(path), path), inputs_.front());
  }
  samples_left_ = arrays_.empty() ? 0 : arrays_.front().samples;
  for (const OpenArray& array : arrays_) {
    if (array.samples == samples_left_) continue;
    refuse(fmt::format("{}: has {} samples of '{}' and {} of '{}'; each sample needs both", path, samples_left_,
                       arrays_.front().input->name, array.samples, array.input->name));
  }
}

void SampleSource::add_array(arrays::ArrayReader reader, const InputSpec& input) {
  if (reader.dtype() != input.dtype && !arrays::holds_bits_of(reader.dtype(), input.dtype)) {
    refuse(fmt::format("{} holds {}; input '{}' is {}: save it as that type", reader.title(), name_of(reader.dtype()),
                       input.name, name_of(input.dtype)));
  }
  const std::vector<int64_t>& dims = reader.dims();
  const size_t rank = input.dims.size();
  const bool has_own_axis = dims.size() == rank + 1;
  // Without an axis of its own, a sample is as many rows as the input has.
  const int64_t rows = has_own_axis || rank == 0 || input.dims[0] == kAnyLength ? 1 : input.dims[0];
  const auto refuse_dims = [&] {
    refuse(
        fmt::format("{} is {}; input '{}' takes {}, with the samples along its first axis or along one more in front",
                    reader.title(), format_dims(dims), input.name, format_dims(input.dims)));
  };
  if (dims.empty() || (!has_own_axis && dims.size() != rank)) refuse_dims();
  for (size_t axis = has_own_axis ? 0 : 1; axis < rank; ++axis) {
    const int64_t have = dims[dims.size() - rank + axis];
    if (input.dims[axis] != kAnyLength && input.dims[axis] != have) refuse_dims();
  }
  if (rows == 0 || dims[0] % rows != 0) {
    refuse(fmt::format("{} is {}: {} rows do not make samples of {}, as input '{}' takes at once", reader.title(),
                       format_dims(dims), dims[0], rows, input.name));
  }
  const auto samples = static_cast<uint64_t>(dims[0] / rows);
  arrays_.push_back({std::move(reader), &input, rows, has_own_axis, samples});
}

bool SampleSource::read_sample(Sample* sample) {
  sample->clear();
  const std::string* spoilt = nullptr;
  for (OpenArray& array : arrays_) {
    ir::Tensor tensor = array.reader.read_rows(array.rows);
    tensor.dtype = array.input->dtype;
    if (array.has_own_axis) tensor.dims.erase(tensor.dims.begin());
    if (!is_finite(tensor)) spoilt = &array.reader.title();
    sample->emplace(array.input->name, std::move(tensor));
  }
  const uint64_t index = arrays_.front().samples - samples_left_--;
  if (spoilt != nullptr && is_first_round_ && warn_) {
    warn_(fmt::format("{}: sample {} holds NaN or an infinity; it is left out", *spoilt, index));
  }
  return spoilt == nullptr;
}

bool SampleSource::next(Sample* sample) {
  for (;;) {
    while (samples_left_ == 0) {
      if (next_file_ == files_.size()) {
        arrays_.clear();
        if (given_ == 0) refuse("every calibration sample holds NaN or an infinity: none is left to calibrate with");
        is_first_round_ = false;
        return false;
      }
      open_file(files_[next_file_++]);
    }
    if (!read_sample(sample)) continue;
    ++given_;
    return true;
  }
}

void SampleSource::rewind() {
  arrays_.clear();
  samples_left_ = given_ = 0;
  next_file_ = 0;
}

}  // namespace planwright::calibrator
