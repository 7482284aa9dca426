// Activations that importers of several groups write into programs.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_ACTIVATIONS_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_ACTIVATIONS_H_

#include <optional>
#include <string>

#include "builder/onnx/program_builder.h"

namespace planwright::builder::importer {

Reg gelu_of(ProgramBuilder& program, Reg x);       // x/2 * (1 + erf(x / sqrt 2))
Reg tanh_gelu_of(ProgramBuilder& program, Reg x);  // its approximation by tanh

// x < 0 ? alpha * x : x
Reg leaky_relu_of(ProgramBuilder& program, Reg x, double alpha);

// The activation that a fused node names, with its two numbers; nothing where the name is unknown.
std::optional<Reg> named_activation(ProgramBuilder& program, const std::string& name, double alpha, double beta, Reg x);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_ACTIVATIONS_H_
