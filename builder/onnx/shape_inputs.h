// Which of a model's inputs decide on shapes by their values.
#ifndef PLANWRIGHT_BUILDER_ONNX_SHAPE_INPUTS_H_
#define PLANWRIGHT_BUILDER_ONNX_SHAPE_INPUTS_H_

#include <string>
#include <unordered_set>

#include "onnx/onnx_pb.h"

namespace planwright::builder::importer {

// Names of values whose elements some node reads, directly or through others, to decide on a shape.
std::unordered_set<std::string> values_that_shape(const onnx::GraphProto& graph);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_SHAPE_INPUTS_H_
