#include "tests/conformance/run_case.h"

#include <fmt/format.h>
#include <planwright/planwright.h>

#include <memory>

#include "apps/common/compare.h"
#include "builder/build.h"
#include "builder/onnx/import.h"
#include "builder/onnx/shape_inputs.h"
#include "planfmt/write.h"
#include "schemas/types/error.h"
#include "tactics/kernels/cpu.h"

namespace planwright::conformance {
namespace {

// A failure and the stage it came in.
struct StagedFailure {
  Stage stage;
  StatusCode code;
  std::string message;
};

void require(int status) {
  if (status != PW_OK) throw Error(static_cast<StatusCode>(status), pw_last_error());
}

struct EngineCloser {
  void operator()(pw_engine* engine) const { pw_engine_close(engine); }
};
struct ContextDestroyer {
  void operator()(pw_context* context) const { pw_context_destroy(context); }
};
using EnginePtr = std::unique_ptr<pw_engine, EngineCloser>;
using ContextPtr = std::unique_ptr<pw_context, ContextDestroyer>;

EnginePtr open_engine(const std::string& path) {
  pw_engine* engine = nullptr;
  require(pw_engine_open(path.c_str(), nullptr, &engine));
  return EnginePtr(engine);
}

ContextPtr make_context(pw_engine* engine) {
  pw_context_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  pw_context* context = nullptr;
  require(pw_context_create(engine, &options, &context));
  return ContextPtr(context);
}

// Runs one data set; outputs in the model's order.
std::vector<ir::Tensor> run(pw_engine* engine, pw_context* context, const builder::OnnxModel& model,
                            const std::vector<size_t>& positions, DataSet& set) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const std::string& name = model.inputs()[i].name;
    if (positions[i] >= set.inputs.size()) {
      throw Error(StatusCode::kInvalid, fmt::format("the case has no data for input '{}'", name));
    }
    ir::Tensor& input = set.inputs[positions[i]];
    if (input.dtype != model.inputs()[i].dtype) {
      throw Error(StatusCode::kInvalid, fmt::format("input '{}' is {}, the data {}", name,
                                                    name_of(model.inputs()[i].dtype), name_of(input.dtype)));
    }
    require(pw_context_set_input_shape(context, name.c_str(), input.dims.data(), input.dims.size()));
    require(pw_context_bind(context, name.c_str(), input.data.data(), input.data.size()));
  }
  std::vector<ir::Tensor> outputs;
  std::vector<std::string> names;
  outputs.reserve(pw_engine_binding_count(engine));
  for (size_t i = 0; i < pw_engine_binding_count(engine); ++i) {
    pw_binding binding;
    require(pw_engine_binding(engine, i, &binding));
    if (binding.is_input) continue;
    ir::Tensor& output = outputs.emplace_back();
    output.dtype = static_cast<DType>(binding.dtype);
    size_t bytes = 0;
    require(pw_context_output_limit(context, binding.name, &bytes));
    output.data.resize(bytes);
    require(pw_context_bind(context, binding.name, output.data.data(), bytes));
    names.emplace_back(binding.name);
  }
  require(pw_context_run(context));
  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t rank = PW_MAX_RANK, bytes = size_of(outputs[i].dtype);
    outputs[i].dims.resize(rank);
    require(pw_context_output_shape(context, names[i].c_str(), outputs[i].dims.data(), &rank));
    outputs[i].dims.resize(rank);
    for (const int64_t dim : outputs[i].dims) bytes *= static_cast<size_t>(dim);
    outputs[i].data.resize(bytes);
  }
  return outputs;
}

// Inputs are left to run time; where no shape can be planned without the values of some, a second attempt has those of
// the data sets in its profile, as a user would give them.
builder::BuildResult build_case(const Case& one, const builder::OnnxModel& model, const std::vector<DataSet>& data) {
  const std::unordered_set<std::string> shape_inputs = builder::importer::values_that_shape(model.proto().graph());
  const auto attempt = [&](const std::unordered_set<std::string>& with_values) {
    builder::BuildOptions options;
    options.profiles = {profile_of(one, model, data, with_values)};
    options.search.optimization_level = 0;
    options.search.isa = detect_isa();
    return builder::build(builder::import_model(model, options.profiles), options);
  };
  try {
    return attempt({});
  } catch (const Error& error) {
    if (error.code() != StatusCode::kUnsupported || shape_inputs.empty()) throw;
  }
  return attempt(shape_inputs);
}

// Throws StagedFailure where a stage fails; returns the first mismatch, or nothing.
std::string whole_road(const Case& one, const std::filesystem::path& scratch) {
  Stage stage = Stage::kLoad;
  try {
    const builder::OnnxModel model = builder::OnnxModel::load((one.folder / "model.onnx").string());
    stage = Stage::kBuild;
    std::vector<DataSet> data;
    std::string unreadable;  // data that is no tensor matters only if the model builds
    try {
      data = read_data_sets(one);
    } catch (const Error& error) {
      unreadable = error.what();
    }
    const builder::BuildResult built = build_case(one, model, data);
    if (!unreadable.empty()) throw Error(StatusCode::kUnsupported, unreadable);

    const std::string path = (scratch / (one.name + ".engine")).string();
    throw_if_error(planfmt::write_engine(built.plan, path));
    const EnginePtr engine = open_engine(path);
    std::filesystem::remove(path);  // the mapping stays
    stage = Stage::kRun;
    const ContextPtr context = make_context(engine.get());
    const std::vector<size_t> positions = input_positions(one, model);
    for (size_t set = 0; set < data.size(); ++set) {
      const std::vector<ir::Tensor> got = run(engine.get(), context.get(), model, positions, data[set]);
      if (one.expect_error) continue;
      if (got.size() != data[set].outputs.size()) {
        return fmt::format("{} outputs, wanted {}", got.size(), data[set].outputs.size());
      }
      for (size_t i = 0; i < got.size(); ++i) {
        const std::string difference =
            apps::compare(got[i], data[set].outputs[i], rtol_of(one, got[i].dtype), one.atol);
        if (!difference.empty()) {
          return fmt::format("data set {}, output '{}': {}", set, model.outputs()[i].name, difference);
        }
      }
    }
    if (data.empty() && !one.expect_error) return "the case has no data sets";
    return "";
  } catch (const Error& error) {
    throw StagedFailure{stage, error.code(), error.what()};
  }
}

Outcome judge_failure(const Case& one, const StagedFailure& failure) {
  const std::string text = fmt::format("{}: {}", name_of(failure.code), failure.message);
  if (one.expect_error) {
    if (failure.stage > one.error_stage) return {Result::kWrong, "failed too late: " + text};
    if (failure.message.empty()) return {Result::kWrong, "failed without a message"};
    if (!mentions_any(failure.message, one.mention_any)) {
      return {Result::kWrong,
              fmt::format("the message mentions none of [{}]: {}", fmt::join(one.mention_any, ", "), text)};
    }
    return {Result::kPassed, text};
  }
  if (failure.code == StatusCode::kUnsupported && failure.stage <= Stage::kBuild) {
    return {one.accept_refusal ? Result::kPassed : Result::kRefused, text};
  }
  return {Result::kWrong, text};
}

}  // namespace

const char* name_of(Result result) {
  switch (result) {
    case Result::kPassed: return "passed";
    case Result::kRefused: return "refused";
    case Result::kWrong: return "wrong";
    case Result::kCrashed: return "crashed";
    case Result::kHung: return "hung";
  }
  return "?";
}

Outcome run_case(const Case& one, const std::filesystem::path& scratch) {
  try {
    const std::string mismatch = whole_road(one, scratch);
    if (!mismatch.empty()) return {Result::kWrong, mismatch};
    if (one.expect_error) return {Result::kWrong, "ran although it had to be refused"};
    return {Result::kPassed, ""};
  } catch (const StagedFailure& failure) {
    return judge_failure(one, failure);
  } catch (const std::exception& fault) {
    return {Result::kCrashed, fmt::format("unexpected exception: {}", fault.what())};
  }
}

}  // namespace planwright::conformance
