// Tensors whose bytes lie in files beside the model (ONNX's external data).
#ifndef PLANWRIGHT_BUILDER_ONNX_EXTERNAL_DATA_H_
#define PLANWRIGHT_BUILDER_ONNX_EXTERNAL_DATA_H_

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace planwright::builder {

// Reads what `tensor` keeps in an external file below `folder` into its raw_data; leaves other tensors alone. The file
// must be a plain one with a single name, reached without symbolic links or "..": a model is data, and must not choose
// which of the user's files are read. Throws Error(kInvalid) where that or the offset and length do not hold, before
// anything is allocated; kIo where reading fails. Appends to `warnings`.
void read_external_data(onnx::TensorProto& tensor, const std::string& folder, std::vector<std::string>* warnings);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_EXTERNAL_DATA_H_
