// A conformance case: a folder in ONNX's backend-test form, with an optional meta.json that says what must happen.
#ifndef PLANWRIGHT_TESTS_CONFORMANCE_CASE_H_
#define PLANWRIGHT_TESTS_CONFORMANCE_CASE_H_

#include <filesystem>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "builder/ir/interpret.h"
#include "builder/onnx/model.h"
#include "builder/profile.h"

namespace planwright::conformance {

// Where a case that must fail may do so at the latest.
enum class Stage { kLoad = 0, kBuild, kRun };

struct Case {
  std::string name;
  std::filesystem::path folder;
  bool expect_error = false;
  Stage error_stage = Stage::kRun;
  bool accept_refusal = false;
  double rtol = 1e-3, atol = 1e-7;  // ONNX's own for backend tests; atol is infinite where any values are right
  std::vector<std::string> mention_any;
  std::vector<std::string> input_names;  // of input_K.pb; empty: the model's order
  std::map<std::string, builder::ShapeRange> profiles;
};

// The case's relative tolerance for an output: at least two units in the last place of the 16-bit floats, which
// rounding in another order costs (ONNX's own runner does the same for bf16).
double rtol_of(const Case& one, DType output);

// Every folder in `folder` that has a model.onnx, by name. Throws Error(kIo).
std::vector<Case> find_cases(const std::filesystem::path& folder);

// One test_data_set_N: inputs by position, wanted outputs by position.
struct DataSet {
  std::vector<ir::Tensor> inputs, outputs;
};
// Throws Error: kUnsupported for data that is no tensor (a sequence), kInvalid.
std::vector<DataSet> read_data_sets(const Case& one);

// The profile to build for: the case's own; else the static shape; else the range over the data sets. It gives the
// values of the inputs in `with_values` too, where they are few.
builder::Profile profile_of(const Case& one, const builder::OnnxModel& model, const std::vector<DataSet>& data,
                            const std::unordered_set<std::string>& with_values);

// The position of each model input in a data set's inputs.
std::vector<size_t> input_positions(const Case& one, const builder::OnnxModel& model);

}  // namespace planwright::conformance

#endif  // PLANWRIGHT_TESTS_CONFORMANCE_CASE_H_
