// SparseTensorProto as a plain tensor.
#ifndef PLANWRIGHT_BUILDER_ONNX_SPARSE_TENSOR_H_
#define PLANWRIGHT_BUILDER_ONNX_SPARSE_TENSOR_H_

#include <string>

#include "onnx/onnx_pb.h"

namespace planwright::builder {

// The dense tensor, named as the values are, zero where the sparse one holds nothing. `what` names it in messages.
// Throws Error(kInvalid) where indices are out of range or do not fit the values, kResource above 1 GiB.
onnx::TensorProto dense_of(const onnx::SparseTensorProto& sparse, const std::string& what);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_SPARSE_TENSOR_H_
