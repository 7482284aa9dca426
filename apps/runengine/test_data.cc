#include "apps/runengine/test_data.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "apps/common/compare.h"
#include "apps/common/log.h"
#include "builder/onnx/test_tensor.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;
namespace {

// What is wrong with an output, or nothing; `figure` gets what it was judged by.
std::string judge(const ir::Tensor& got, const ir::Tensor& want, const Accuracy& accuracy, std::string& figure) {
  if (accuracy.algorithm.empty() || got.dtype != want.dtype || got.dims != want.dims) {
    figure = fmt::format("rtol {:g}, atol {:g}", accuracy.rtol, accuracy.atol);
    return compare(got, want, accuracy.rtol, accuracy.atol);
  }
  const Distance apart = distance(got, want);
  const bool cosine = accuracy.algorithm == "cos";
  const double value = cosine ? apart.cosine : accuracy.algorithm == "l2" ? apart.l2 : apart.l_inf;
  figure = fmt::format("{} {}, threshold {}", accuracy.algorithm, value, accuracy.threshold);
  const bool good = cosine ? value >= accuracy.threshold : value <= accuracy.threshold;  // false for NaN
  return good ? "" : "differs";
}

std::vector<pw_binding> bindings_of(const pw::Engine& engine, bool inputs) {
  std::vector<pw_binding> list;
  for (const pw_binding& binding : engine.bindings()) {
    if ((binding.is_input != 0) == inputs) list.push_back(binding);
  }
  return list;
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(StatusCode::kInvalid, fmt::format("{}: {}", file.string(), why));
}

// "input_12.pb" -> 12 for the role "input"; -1 for other names.
int number_in(const std::string& file, const std::string& role) {
  const std::string prefix = role + "_", suffix = ".pb";
  if (!file.starts_with(prefix) || !file.ends_with(suffix) || file.size() <= prefix.size() + suffix.size()) return -1;
  int number = -1;
  const char* end = file.data() + file.size() - suffix.size();
  const auto [stop, failure] = std::from_chars(file.data() + prefix.size(), end, number);
  return stop == end && failure == std::errc() ? number : -1;
}

// The folder's files of one role, by number.
std::map<int, fs::path> files_of(const fs::path& folder, const std::string& role) {
  std::map<int, fs::path> files;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    const int number = number_in(entry.path().filename().string(), role);
    if (number >= 0) files[number] = entry.path();
  }
  if (failure) throw Error(StatusCode::kIo, fmt::format("{}: {}", folder.string(), failure.message()));
  return files;
}

// The binding that a file is for: the one whose name is stored in it, else the one at its place.
const pw_binding& binding_of(const std::vector<pw_binding>& bindings, const std::string& role, int number,
                             const std::string& stored, const fs::path& file) {
  const std::string role_text = fmt::format("{} {}{}", bindings.size(), role, bindings.size() == 1 ? "" : "s");
  if (!stored.empty()) {
    for (const pw_binding& binding : bindings) {
      // An output that the model takes from an input of the same name has ":out" behind it.
      if (stored == binding.name || (role == "output" && stored + ":out" == binding.name)) return binding;
    }
    std::vector<std::string> names;
    for (const pw_binding& binding : bindings) names.emplace_back(binding.name);
    refuse(file, fmt::format("it is of '{}', which is no {} of the engine; there is: {}", stored, role,
                             fmt::join(names, ", ")));
  }
  if (number >= static_cast<int>(bindings.size())) {
    refuse(file, fmt::format("it is one too many: the engine has {}", role_text));
  }
  return bindings[static_cast<size_t>(number)];
}

// The folder's tensors of one role; every binding has one, of its type.
Tensors read_role(const pw::Engine& engine, const fs::path& folder, const std::string& role) {
  const std::vector<pw_binding> bindings = bindings_of(engine, role == "input");
  Tensors tensors;
  for (const auto& [number, file] : files_of(folder, role)) {
    std::string stored;
    ir::Tensor tensor = builder::read_tensor_file(file.string(), &stored);
    const pw_binding& binding = binding_of(bindings, role, number, stored, file);
    if (tensor.dtype != static_cast<DType>(binding.dtype)) {
      refuse(file, fmt::format("it is {}, {} '{}' is {}", planwright::name_of(tensor.dtype), role, binding.name,
                               planwright::name_of(static_cast<DType>(binding.dtype))));
    }
    if (!tensors.emplace(binding.name, std::move(tensor)).second) {
      refuse(file, fmt::format("it is of {} '{}', as another file is", role, binding.name));
    }
  }
  for (const pw_binding& binding : bindings) {
    if (tensors.contains(binding.name)) continue;
    throw Error(StatusCode::kInvalid,
                fmt::format("{} holds no {}_N.pb for {} '{}'", folder.string(), role, role, binding.name));
  }
  return tensors;
}

bool run_set(const pw::Engine& engine, const RunOptions& options, const fs::path& folder) {
  Tensors inputs = read_role(engine, folder, "input");
  const Tensors wanted = read_role(engine, folder, "output");
  InferenceOptions inference = options.inference;
  RunShapes shapes = shapes_of(engine, inputs);
  shapes.profile = inference.profile;
  inference.profile = complete_shapes(engine, shapes).profile;
  BoundContext bound(engine, context_options(inference), inputs);
  bound.run();
  const Tensors& outputs = bound.outputs();
  bool good = true;
  for (const pw_binding& binding : bindings_of(engine, false)) {
    std::string figure;
    const std::string fault = judge(outputs.at(binding.name), wanted.at(binding.name), options.accuracy, figure);
    const std::string line = fmt::format("{} {}: {} ({})", folder.filename().string(), binding.name,
                                         fault.empty() ? "matches" : fault, figure);
    if (!fault.empty()) {
      log_line('E', line);
    } else if (!options.quiet) {
      fmt::print("{}\n", line);
    }
    good = good && fault.empty();
  }
  return good;
}

}  // namespace

bool run_test_data(const pw::Engine& engine, const RunOptions& options) {
  std::error_code ignored;
  if (!fs::is_directory(options.test_data, ignored)) {
    throw Error(StatusCode::kIo,
                fmt::format("--testData={}: {}", options.test_data,
                            fs::exists(options.test_data, ignored) ? "is no folder" : "there is no such folder"));
  }
  bool good = true;
  int sets = 0;
  for (;; ++sets) {
    const fs::path folder = fs::path(options.test_data) / fmt::format("test_data_set_{}", sets);
    if (!fs::is_directory(folder, ignored)) break;
    good = run_set(engine, options, folder) && good;
  }
  if (sets == 0) {
    throw Error(StatusCode::kInvalid,
                fmt::format("--testData={}: the folder holds no test_data_set_0", options.test_data));
  }
  return good;
}

}  // namespace planwright::apps
