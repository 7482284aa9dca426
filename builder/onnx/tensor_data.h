// TensorProto <-> plain bytes: initializers, constants, and the test data of ONNX's backend tests.
#ifndef PLANWRIGHT_BUILDER_ONNX_TENSOR_DATA_H_
#define PLANWRIGHT_BUILDER_ONNX_TENSOR_DATA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "builder/ir/interpret.h"
#include "schemas/types/dtype.h"

namespace onnx {
class TensorProto;
}

namespace planwright::builder {

// The DType of an ONNX element type (TensorProto.DataType); nothing for those Planwright has not (string, complex).
std::optional<DType> dtype_of_onnx(int32_t data_type);
// The other way.
int32_t onnx_type_of(DType dtype);
// "complex64", "string", ...: ONNX's own name of its element type, for messages.
std::string onnx_type_name(int32_t data_type);

// Bytes that the dims and the type make, whatever the tensor holds: of the elements in memory, and of raw_data, where
// types of less than a byte are packed. `what` and errors as for read_tensor.
uint64_t tensor_bytes(const onnx::TensorProto& proto, const std::string& what);
uint64_t raw_bytes(const onnx::TensorProto& proto, const std::string& what);

// Throws Error(kInvalid) as read_tensor does; says nothing of an unsupported element type.
void check_tensor(const onnx::TensorProto& proto, const std::string& what);

// The elements, whichever of the typed fields or raw_data holds them, dense row-major. `what` names the tensor in
// messages ("initializer w"). Throws Error: kInvalid (negative dims, overflow, size unlike dims x type: FAULTS B7, B8),
// kUnsupported (element type). Not for tensors whose data is external.
ir::Tensor read_tensor(const onnx::TensorProto& proto, const std::string& what);

// The raw_data of a tensor whose elements lie in memory as given.
std::string raw_data_of(DType dtype, const std::string& elements);

// Whether a float32 tensor, checked, holds a NaN.
bool holds_nan(const onnx::TensorProto& proto);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_TENSOR_DATA_H_
