// Small changes to an ONNX model that keep it a protobuf message, so that a fuzzer gets past the parser.
#ifndef PLANWRIGHT_TESTS_FUZZ_MUTATE_MODEL_H_
#define PLANWRIGHT_TESTS_FUZZ_MUTATE_MODEL_H_

#include <onnx/onnx_pb.h>

#include <random>

namespace planwright::tests {

// Changes one thing: an operator's name, an operand, an attribute, a dim, a type, some data, or the list of nodes.
void mutate(onnx::ModelProto* model, std::mt19937& random);

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_FUZZ_MUTATE_MODEL_H_
