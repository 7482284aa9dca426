#include "apps/runengine/test_data.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/common/compare.h"
#include "builder/onnx/test_tensor.h"
#include "schemas/types/error.h"

namespace planwright::apps {
namespace fs = std::filesystem;
namespace {

// What is wrong with an output, or nothing; `figure` gets what was measured.
std::string judge(const ir::Tensor& got, const ir::Tensor& want, const Accuracy& accuracy, std::string& figure) {
  if (accuracy.algorithm.empty() || got.dtype != want.dtype || got.dims != want.dims) {
    figure = fmt::format("rtol {:g}, atol {:g}", accuracy.rtol, accuracy.atol);
    return compare(got, want, accuracy.rtol, accuracy.atol);
  }
  const Distance apart = distance(got, want);
  const bool cosine = accuracy.algorithm == "cos";
  const double value = cosine ? apart.cosine : accuracy.algorithm == "l2" ? apart.l2 : apart.l_inf;
  figure = fmt::format("{} {:g}", accuracy.algorithm, value);
  const bool good = cosine ? value >= accuracy.threshold : value <= accuracy.threshold;  // false for NaN
  return good ? "" : fmt::format("{} is {:g}, the threshold {:g}", accuracy.algorithm, value, accuracy.threshold);
}

std::vector<pw_binding> bindings_of(const pw::Engine& engine, bool inputs) {
  std::vector<pw_binding> list;
  for (const pw_binding& binding : engine.bindings()) {
    if ((binding.is_input != 0) == inputs) list.push_back(binding);
  }
  return list;
}

bool run_set(const pw::Engine& engine, const RunOptions& options, const fs::path& folder) {
  Tensors inputs;
  const std::vector<pw_binding> input_bindings = bindings_of(engine, true);
  for (size_t i = 0; i < input_bindings.size(); ++i) {
    inputs[input_bindings[i].name] = builder::read_tensor_file((folder / fmt::format("input_{}.pb", i)).string());
  }
  BoundContext bound(engine, context_options(options.inference), inputs);
  bound.run();
  bool good = true;
  const std::vector<pw_binding> output_bindings = bindings_of(engine, false);
  for (size_t i = 0; i < output_bindings.size(); ++i) {
    const ir::Tensor want = builder::read_tensor_file((folder / fmt::format("output_{}.pb", i)).string());
    std::string figure;
    const std::string fault = judge(bound.outputs().at(output_bindings[i].name), want, options.accuracy, figure);
    fmt::print("{} {}: {} ({})\n", folder.filename().string(), output_bindings[i].name,
               fault.empty() ? "matches" : fault, figure);
    good = good && fault.empty();
  }
  return good;
}

}  // namespace

bool run_test_data(const pw::Engine& engine, const RunOptions& options) {
  bool good = true;
  int sets = 0;
  for (;; ++sets) {
    const fs::path folder = fs::path(options.test_data) / fmt::format("test_data_set_{}", sets);
    if (!fs::exists(folder)) break;
    good = run_set(engine, options, folder) && good;
  }
  if (sets == 0) throw Error(StatusCode::kInvalid, fmt::format("{} holds no test_data_set_0", options.test_data));
  return good;
}

}  // namespace planwright::apps
