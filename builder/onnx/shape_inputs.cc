#include "builder/onnx/shape_inputs.h"

#include <algorithm>

#include "builder/onnx/elements.h"
#include "builder/onnx/import.h"
#include "builder/onnx/node_check.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/shape_arithmetic.h"

namespace planwright::builder {
namespace importer {

namespace {

using Names = std::unordered_set<std::string>;

void visit(const onnx::GraphProto& graph, Names& wanted) {
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() == "Shape" || node.op_type() == "Size") continue;  // read no elements
    const bool feeds = std::any_of(node.output().begin(), node.output().end(),
                                   [&](const std::string& output) { return wanted.contains(output); });
    // A function may do anything with what it is given; a branch sees the values around it.
    if (feeds || find_importer(plain_domain(node.domain()), node.op_type()) == nullptr) {
      wanted.insert(node.input().begin(), node.input().end());
    }
    for (const int operand : shape_operands(node.op_type())) {
      if (operand < node.input_size()) wanted.insert(node.input(operand));
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      if (feeds) {
        for (const onnx::ValueInfoProto& output : attribute.g().output()) wanted.insert(output.name());
      }
      visit(attribute.g(), wanted);
    }
  }
}

}  // namespace

Names values_that_shape(const onnx::GraphProto& graph) {
  Names wanted;
  visit(graph, wanted);
  return wanted;
}

}  // namespace importer

std::vector<std::string> shape_inputs(const OnnxModel& model) {
  const std::unordered_set<std::string> wanted = importer::values_that_shape(model.proto().graph());
  std::vector<std::string> names;
  for (const TensorDecl& input : model.inputs()) {
    if (!wanted.contains(input.name) || !input.is_static()) continue;
    if (input.dtype != DType::kI64 && input.dtype != DType::kI32) continue;
    int64_t count = 1;
    for (const int64_t dim : input.dims) {
      count = std::min(count * std::min(dim, importer::kMaxElements + 1), importer::kMaxElements + 1);
    }
    if (count <= importer::kMaxElements) names.push_back(input.name);
  }
  return names;
}

}  // namespace planwright::builder
