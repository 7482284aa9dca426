// An ONNX file read into memory and checked for everything that can be wrong before its graph is understood.
#ifndef PLANWRIGHT_BUILDER_ONNX_MODEL_H_
#define PLANWRIGHT_BUILDER_ONNX_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/types/dtype.h"

namespace onnx {
class ModelProto;
}

namespace planwright::builder {

// A graph input or output as the model declares it.
struct TensorDecl {
  std::string name;
  std::string binding;  // what the engine calls it: the name, but "x:out" for an output where an input is called x
  DType dtype = DType::kF32;
  bool has_shape = true;
  std::vector<int64_t> dims;           // -1: dynamic
  std::vector<std::string> dim_names;  // the model's dim_param; empty where it has none or it names nothing ("?")
  std::string unsupported;             // why no engine can have it (a sequence, strings); empty when one can
  bool is_static() const;
};

class OnnxModel {
 public:
  // Reads `path` and, beside it, external data. Throws Error: kIo, kInvalid (FAULTS B1-B8, B11-B13), kUnsupported.
  static OnnxModel load(const std::string& path);
  // The same for a model in memory; external data is looked for in `folder`.
  static OnnxModel from_proto(onnx::ModelProto proto, const std::string& folder = ".");
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;
  ~OnnxModel();

  const std::vector<TensorDecl>& inputs() const { return inputs_; }  // those without an initializer
  const std::vector<TensorDecl>& outputs() const { return outputs_; }
  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // External data read, by path.
  const std::vector<std::string>& data_files() const { return data_files_; }
  // Nodes of every graph and function sorted, external data and sparse initializers read in.
  const onnx::ModelProto& proto() const { return *proto_; }

 private:
  OnnxModel();
  std::unique_ptr<onnx::ModelProto> proto_;
  std::string folder_;
  std::vector<TensorDecl> inputs_, outputs_;
  std::vector<std::string> warnings_, data_files_;
};

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_MODEL_H_
