#include "tests/conformance/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "builder/onnx/test_tensor.h"
#include "schemas/types/error.h"

namespace planwright::conformance {
namespace fs = std::filesystem;
namespace {

void read_meta(const fs::path& file, Case& one) {
  std::ifstream stream(file);
  if (!stream) return;
  const nlohmann::json meta = nlohmann::json::parse(stream);
  one.expect_error = meta.value("expect", "match") == "clear-error";
  const std::string stage = meta.value("stage", "run");
  one.error_stage = stage == "load" ? Stage::kLoad : stage == "build" ? Stage::kBuild : Stage::kRun;
  one.accept_refusal = meta.value("accept_refusal", false);
  one.rtol = meta.value("rtol", one.rtol);
  one.atol = meta.value("atol", one.atol);
  if (meta.value("values", "") == "any") one.atol = std::numeric_limits<double>::infinity();
  one.mention_any = meta.value("mention_any", std::vector<std::string>{});
  one.input_names = meta.value("input_names", std::vector<std::string>{});
  if (!meta.contains("profiles")) return;
  for (const auto& [input, range] : meta["profiles"].items()) {
    one.profiles[input] = {input, range["min"], range["opt"], range["max"]};
  }
}

std::vector<ir::Tensor> read_numbered(const fs::path& folder, const char* prefix) {
  std::vector<ir::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) return tensors;
    tensors.push_back(builder::read_tensor_file(file.string()));
  }
}

}  // namespace

double rtol_of(const Case& one, DType output) {
  return std::max(one.rtol, output == DType::kBF16 ? 0x1p-6 : output == DType::kF16 ? 0x1p-9 : 0.0);
}

std::vector<Case> find_cases(const fs::path& folder) {
  std::error_code failure;
  std::vector<Case> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    Case one;
    one.name = entry.path().filename().string();
    one.folder = entry.path();
    read_meta(entry.path() / "meta.json", one);
    cases.push_back(std::move(one));
  }
  if (failure) throw Error(StatusCode::kIo, fmt::format("{}: {}", folder.string(), failure.message()));
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

std::vector<DataSet> read_data_sets(const Case& one) {
  std::vector<DataSet> sets;
  for (int i = 0;; ++i) {
    const fs::path folder = one.folder / fmt::format("test_data_set_{}", i);
    if (!fs::exists(folder)) return sets;
    sets.push_back({read_numbered(folder, "input"), read_numbered(folder, "output")});
  }
}

std::vector<size_t> input_positions(const Case& one, const builder::OnnxModel& model) {
  std::vector<size_t> positions;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto found = std::find(one.input_names.begin(), one.input_names.end(), model.inputs()[i].name);
    positions.push_back(one.input_names.empty() ? i : static_cast<size_t>(found - one.input_names.begin()));
  }
  return positions;
}

// The values of a small input: those of all data sets together.
void add_values(const builder::TensorDecl& input, size_t position, const std::vector<DataSet>& data,
                builder::ShapeRange* range) {
  constexpr size_t kMostValues = 64;
  if (range->min != range->max) return;
  for (const DataSet& set : data) {
    if (position >= set.inputs.size()) return;
    const ir::Tensor& tensor = set.inputs[position];
    const size_t size = size_of(tensor.dtype), count = tensor.data.size() / size;
    if (count > kMostValues || (!range->value_opt.empty() && range->value_opt.size() != count)) return;
    for (size_t i = 0; i < count; ++i) {
      int64_t value = 0;
      std::memcpy(&value, tensor.data.data() + i * size, size);
      if (tensor.dtype == DType::kI32) value = static_cast<int32_t>(value);
      if (i == range->value_opt.size()) {
        for (auto* values : {&range->value_min, &range->value_opt, &range->value_max}) values->push_back(value);
      }
      range->value_min[i] = std::min(range->value_min[i], value);
      range->value_max[i] = std::max(range->value_max[i], value);
    }
  }
  const bool has_ranges = input.dtype == DType::kI64 || input.dtype == DType::kI32;
  if (!has_ranges && range->value_min != range->value_max) range->value_min = range->value_opt = range->value_max = {};
}

builder::Profile profile_of(const Case& one, const builder::OnnxModel& model, const std::vector<DataSet>& data,
                            const std::unordered_set<std::string>& with_values) {
  builder::Profile profile;
  const std::vector<size_t> positions = input_positions(one, model);
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const builder::TensorDecl& input = model.inputs()[i];
    if (const auto found = one.profiles.find(input.name); found != one.profiles.end()) {
      profile.inputs.push_back(found->second);
    } else if (input.is_static()) {
      profile.inputs.push_back({input.name, input.dims, input.dims, input.dims});
    } else {
      builder::ShapeRange range{input.name, {}, {}, {}};
      for (const DataSet& set : data) {
        if (positions[i] >= set.inputs.size()) continue;
        const std::vector<int64_t>& dims = set.inputs[positions[i]].dims;
        if (range.min.empty()) range.min = range.opt = range.max = dims;
        for (size_t axis = 0; axis < std::min(dims.size(), range.min.size()); ++axis) {
          range.min[axis] = std::min(range.min[axis], dims[axis]);
          range.max[axis] = std::max(range.max[axis], dims[axis]);
        }
      }
      if (range.min.empty() && !input.dims.empty()) {  // no data: something small, for cases that must be refused
        range.min = range.opt = range.max = input.dims;
        for (auto* dims : {&range.min, &range.opt, &range.max}) {
          for (int64_t& dim : *dims) dim = dim < 0 ? 1 : dim;
        }
      }
      profile.inputs.push_back(range);
    }
    const bool is_wanted = with_values.contains(input.name);
    if (is_wanted) add_values(input, positions[i], data, &profile.inputs.back());
  }
  return profile;
}

}  // namespace planwright::conformance
