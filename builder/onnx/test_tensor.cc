#include "builder/onnx/test_tensor.h"

#include <fmt/format.h>

#include <fstream>

#include "builder/onnx/tensor_data.h"
#include "onnx/onnx_pb.h"
#include "schemas/types/error.h"

namespace planwright::builder {

ir::Tensor read_tensor_file(const std::string& path, std::string* name) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(StatusCode::kIo, fmt::format("cannot read {}", path));
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&stream) || proto.data_type() == onnx::TensorProto::UNDEFINED) {
    throw Error(StatusCode::kUnsupported, fmt::format("{} holds no tensor (a sequence or optional?)", path));
  }
  if (name != nullptr) *name = proto.name();
  return read_tensor(proto, path);
}

}  // namespace planwright::builder
