// import_check: imports models and runs them on reference kernels, without the rest of the road.
//
//   import_check FILE.onnx [name:1x3x224x224 ...]   prints the graph
//   import_check FOLDER [REGEX]                     compares every case of a folder in ONNX's backend-test form
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <regex>
#include <unordered_set>

#include "apps/common/compare.h"
#include "builder/ir/interpret.h"
#include "builder/onnx/import.h"
#include "schemas/types/error.h"
#include "tests/conformance/run_case.h"

namespace planwright {
namespace {

// "passed", or what went wrong.
std::string check(const conformance::Case& one) {
  const builder::OnnxModel model = builder::OnnxModel::load((one.folder / "model.onnx").string());
  std::vector<conformance::DataSet> sets;
  std::string unreadable;  // data that is no tensor matters only if the model can be imported
  try {
    sets = conformance::read_data_sets(one);
  } catch (const Error& error) {
    unreadable = error.what();
  }
  const std::vector<std::string> names = builder::shape_inputs(model);
  const std::unordered_set<std::string> shape_inputs(names.begin(), names.end());
  const ir::Graph graph = builder::import_model(model, {conformance::profile_of(one, model, sets, shape_inputs)});
  if (const std::string broken = ir::verify(graph); !broken.empty()) return "unsound graph: " + broken;
  if (!unreadable.empty()) throw Error(StatusCode::kUnsupported, unreadable);
  const std::vector<size_t> positions = conformance::input_positions(one, model);
  for (const conformance::DataSet& set : sets) {
    std::vector<ir::Tensor> inputs;
    for (const size_t position : positions) inputs.push_back(set.inputs.at(position));
    const std::vector<ir::Tensor> outputs = ir::interpret(graph, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string difference =
          apps::compare(outputs[i], set.outputs.at(i), conformance::rtol_of(one, outputs[i].dtype), one.atol);
      if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
    }
  }
  return "passed";
}

int check_folder(const std::string& folder, const std::string& filter) {
  std::map<std::string, int> counts;
  for (const conformance::Case& one : conformance::find_cases(folder)) {
    if (!std::regex_search(one.name, std::regex(filter))) continue;
    std::string outcome, text;
    try {
      text = check(one);
      outcome = text == "passed" ? "passed" : "WRONG";
    } catch (const Error& error) {
      text = fmt::format("{}: {}", name_of(error.code()), error.what());
      const bool wanted = one.expect_error && conformance::mentions_any(error.what(), one.mention_any);
      outcome = wanted ? "passed" : error.code() == StatusCode::kUnsupported ? "refused" : "WRONG";
    } catch (const std::exception& fault) {
      outcome = "WRONG";
      text = fmt::format("exception: {}", fault.what());
    }
    ++counts[outcome];
    if (outcome != "passed") fmt::print("{} {}: {}\n", outcome, one.name, text);
  }
  for (const auto& [outcome, count] : counts) fmt::print("{}: {}\n", outcome, count);
  return counts["WRONG"] == 0 ? 0 : 1;
}

int print_model(const std::string& path, const std::vector<std::string>& shapes) {
  const builder::OnnxModel model = builder::OnnxModel::load(path);
  builder::Profile profile;
  for (const builder::TensorDecl& input : model.inputs()) {
    builder::ShapeRange range{input.name, input.dims, input.dims, input.dims};
    for (const std::string& shape : shapes) {
      const size_t colon = shape.rfind(':');
      if (shape.substr(0, colon) != input.name) continue;
      // "1..4x8" gives a dim a range.
      range = {input.name, {}, {}, {}};
      for (size_t at = colon + 1; at < shape.size();) {
        const size_t end = std::min(shape.find('x', at), shape.size());
        const std::string dim = shape.substr(at, end - at);
        const size_t dots = dim.find("..");
        const int64_t low = std::stoll(dim), high = dots == std::string::npos ? low : std::stoll(dim.substr(dots + 2));
        range.min.push_back(low);
        range.opt.push_back(high);
        range.max.push_back(high);
        at = end + 1;
      }
    }
    profile.inputs.push_back(range);
  }
  const ir::Graph graph = builder::import_model(model, {profile});
  fmt::print("{}\n{}\n", ir::print(graph), ir::verify(graph));
  return 0;
}

}  // namespace
}  // namespace planwright

int main(int argc, char** argv) {
  try {
    const std::string path = argc > 1 ? argv[1] : "";
    if (std::filesystem::is_directory(path)) return planwright::check_folder(path, argc > 2 ? argv[2] : "");
    if (argc > 1) return planwright::print_model(path, {argv + 2, argv + argc});
    fmt::print(stderr, "usage: import_check FILE.onnx [name:dims ...] | FOLDER [REGEX]\n");
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
