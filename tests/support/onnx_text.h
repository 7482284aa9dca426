// Models for tests, written in ONNX's text form (onnx/defs/parser.h).
#ifndef PLANWRIGHT_TESTS_SUPPORT_ONNX_TEXT_H_
#define PLANWRIGHT_TESTS_SUPPORT_ONNX_TEXT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "builder/ir/interpret.h"
#include "builder/onnx/import.h"
#include "onnx/defs/parser.h"
#include "schemas/types/error.h"

namespace planwright::builder {

inline onnx::ModelProto parse_text(const std::string& text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return proto;
}

// `graph`: "(float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }", initializers between angle brackets after the outputs.
inline onnx::ModelProto proto_of(int opset, const std::string& graph) {
  return parse_text("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g " + graph);
}

inline OnnxModel model_of(int opset, const std::string& graph) { return OnnxModel::from_proto(proto_of(opset, graph)); }

// A profile that gives every dynamic dim of every input the range [low, high].
inline Profile profile_of(const OnnxModel& model, int64_t low, int64_t high) {
  Profile profile;
  for (const TensorDecl& input : model.inputs()) {
    ShapeRange range{input.name, input.dims, input.dims, input.dims};
    std::replace(range.min.begin(), range.min.end(), int64_t{-1}, low);
    std::replace(range.opt.begin(), range.opt.end(), int64_t{-1}, high);
    std::replace(range.max.begin(), range.max.end(), int64_t{-1}, high);
    profile.inputs.push_back(std::move(range));
  }
  return profile;
}

inline ir::Graph import_text(int opset, const std::string& graph, int64_t low = 1, int64_t high = 64) {
  const OnnxModel model = model_of(opset, graph);
  return import_model(model, {profile_of(model, low, high)});
}

// The status code and message that `act` fails with; kOk and nothing where it does not.
struct Failure {
  StatusCode code = StatusCode::kOk;
  std::string message;
  bool operator==(const Failure&) const = default;
  bool mentions(const std::string& word) const { return message.find(word) != std::string::npos; }
};
inline std::ostream& operator<<(std::ostream& stream, const Failure& failure) {
  return stream << name_of(failure.code) << ": " << failure.message;
}
inline Failure failure_of(const std::function<void()>& act) {
  try {
    act();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}
inline Failure import_failure(int opset, const std::string& graph, int64_t low = 1, int64_t high = 64) {
  return failure_of([&] { import_text(opset, graph, low, high); });
}

template <typename T>
ir::Tensor tensor_of(DType dtype, const std::vector<int64_t>& dims, const std::vector<T>& elements) {
  ir::Tensor tensor{dtype, dims, ir::Bytes(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(tensor.data.data(), elements.data(), tensor.data.size());
  return tensor;
}
inline ir::Tensor floats(const std::vector<int64_t>& dims, const std::vector<float>& elements) {
  return tensor_of(DType::kF32, dims, elements);
}
template <typename T>
std::vector<T> elements_of(const ir::Tensor& tensor) {
  std::vector<T> elements(tensor.data.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), tensor.data.data(), tensor.data.size());
  return elements;
}

// The first output of the imported model, run on reference kernels.
inline ir::Tensor run_text(int opset, const std::string& graph, const std::vector<ir::Tensor>& inputs) {
  const ir::Graph imported = import_text(opset, graph);
  EXPECT_EQ(ir::verify(imported), "");
  return ir::interpret(imported, inputs).at(0);
}

}  // namespace planwright::builder

#endif  // PLANWRIGHT_TESTS_SUPPORT_ONNX_TEXT_H_
