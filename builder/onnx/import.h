// ONNX -> graph.
#ifndef PLANWRIGHT_BUILDER_ONNX_IMPORT_H_
#define PLANWRIGHT_BUILDER_ONNX_IMPORT_H_

#include <string>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/onnx/model.h"
#include "builder/profile.h"

namespace planwright::builder {

// A node that cannot be imported, and why.
struct Unsupported {
  std::string node;  // its name, or its first output's
  std::string op;    // "ai.onnx.ml::TreeEnsemble"
  int64_t opset = 0;
  std::string reason;  // with the type, shape or attribute that matters, and what to try
};

// Every node of the model that cannot be imported; empty when the model is supported. Never throws for one of those.
std::vector<Unsupported> find_unsupported(const OnnxModel& model, const std::vector<Profile>& profiles);

// The inputs whose values decide shapes, in the model's order: int32 and int64 tensors of constant dims and few
// elements. A profile may give ranges for their values.
std::vector<std::string> shape_inputs(const OnnxModel& model);

// The graph, with a symbol for each dynamic dim of an input (one for dims that share a name), its range the union over
// `profiles`; dims equal throughout all profiles are constants. Shape arithmetic is gone. Throws Error: kUnsupported
// listing *every* unsupported node in one message, kInvalid naming the node.
ir::Graph import_model(const OnnxModel& model, const std::vector<Profile>& profiles);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_ONNX_IMPORT_H_
