#ifndef PLANWRIGHT_BUILDER_ONNX_TYPE_ADVICE_H_
#define PLANWRIGHT_BUILDER_ONNX_TYPE_ADVICE_H_

#include "onnx/onnx_pb.h"

namespace planwright::builder {

// What to do where elements of a type are not supported, to end the message with; "" where nothing is known.
inline const char* advice_on_type(int32_t data_type) {
  if (data_type != onnx::TensorProto::STRING) return "";
  return ": encode text as integers before the model, and train on integer labels";
}

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_TYPE_ADVICE_H_
