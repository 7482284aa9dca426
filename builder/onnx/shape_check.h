// What a tensor's dims may be.
#ifndef PLANWRIGHT_BUILDER_ONNX_SHAPE_CHECK_H_
#define PLANWRIGHT_BUILDER_ONNX_SHAPE_CHECK_H_

#include <cstdint>
#include <string>

#include "builder/ir/dim.h"

namespace planwright::builder {

// Longer than any memory, and small enough that what importers compute of dims seldom passes 64 bits; where it does, the
// arithmetic of dims says so.
inline constexpr int64_t kMaxDim = int64_t{1} << 40;

// How many elements there may be where an empty axis counts as one of length 1: strides are computed all the same.
inline constexpr int64_t kMaxCount = int64_t{1} << 60;

// Throws Error naming `what` where there are too many axes (kUnsupported), or where an axis is sure to be negative or
// longer than kMaxDim, or the axes of constant length make more than kMaxCount (kInvalid).
void check_shape(const ir::Shape& dims, const std::string& what);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_SHAPE_CHECK_H_
