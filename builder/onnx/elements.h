// The elements of constants, as bytes, integers, doubles and expressions.
#ifndef PLANWRIGHT_BUILDER_ONNX_ELEMENTS_H_
#define PLANWRIGHT_BUILDER_ONNX_ELEMENTS_H_

#include <cstdint>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder::importer {

// A value keeps its elements as expressions when it has at most this many: enough for shapes, pads and axes.
inline constexpr int64_t kMaxElements = 64;

// The integer part, int64's limits for what lies past them and 0 for NaN: what C++ leaves undefined.
int64_t saturated(double value);

// The bytes of one element of that type: floats are rounded to nearest even, integers saturate at int64's limits and
// wrap to the narrower type, anything that is not 0 is true.
ir::Bytes element_bytes(DType dtype, double value);
ir::Bytes element_bytes_int(DType dtype, int64_t value);

// A constant's elements in row-major order. As integers, floats saturate and uint64 wraps.
std::vector<int64_t> read_ints(const ir::Value& constant);
std::vector<double> read_doubles(const ir::Value& constant);

// Gives a small integer or bool constant its elements as expressions; leaves others alone.
void attach_elements(ir::Value& value);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_ELEMENTS_H_
