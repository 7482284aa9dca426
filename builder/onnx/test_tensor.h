// Tensors in files of their own, as ONNX's backend tests keep inputs and outputs (input_0.pb).
#ifndef PLANWRIGHT_BUILDER_ONNX_TEST_TENSOR_H_
#define PLANWRIGHT_BUILDER_ONNX_TEST_TENSOR_H_

#include <string>

#include "builder/ir/interpret.h"

namespace planwright::builder {

// Throws Error: kIo, kUnsupported for a file that holds no tensor (a sequence, an optional) or an element type
// Planwright has not, kInvalid. `*name`, unless null, becomes the name stored with the tensor; often empty.
ir::Tensor read_tensor_file(const std::string& path, std::string* name = nullptr);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_TEST_TENSOR_H_
