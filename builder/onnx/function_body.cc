#include "builder/onnx/function_body.h"

#include <algorithm>

#include "builder/onnx/tensor_data.h"

namespace planwright::builder::importer {
namespace {

using AttributeLookup = std::function<const onnx::AttributeProto*(const std::string& name)>;

void resolve(onnx::NodeProto& node, const AttributeLookup& lookup) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> resolved;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const onnx::AttributeProto* given = lookup(attribute.ref_attr_name());
      if (given == nullptr) continue;
      onnx::AttributeProto& copy = *resolved.Add();
      copy = *given;
      copy.set_name(attribute.name());
      continue;
    }
    if (attribute.has_g()) {
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node()) resolve(inner, lookup);
    }
    *resolved.Add() = std::move(attribute);
  }
  *node.mutable_attribute() = std::move(resolved);
}

const onnx::AttributeProto* find_attribute(const google::protobuf::RepeatedPtrField<onnx::AttributeProto>& attributes,
                                           const std::string& name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const onnx::AttributeProto& attribute) { return attribute.name() == name; });
  return found == attributes.end() ? nullptr : &*found;
}

onnx::TypeProto type_of(const ir::Value& value) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(onnx_type_of(value.dtype));
  onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const ir::Dim& dim : value.dims) {
    onnx::TensorShapeProto::Dimension& made = *shape.add_dim();
    if (dim.is_constant()) made.set_dim_value(dim.constant());
  }
  return type;
}

}  // namespace

std::shared_ptr<const onnx::FunctionProto> schema_function(const onnx::NodeProto& node, const onnx::OpSchema& schema,
                                                           int opset, const ir::Graph& graph,
                                                           const std::vector<ir::ValueId>& inputs) {
  if (const onnx::FunctionProto* body = schema.GetFunction(opset)) {
    return {std::shared_ptr<void>(), body};  // the registry's own, which lives as long as the program
  }
  // A body is written for the opset it was registered with; asked for by a later one, it would be labelled as that.
  int written_for = 0;
  for (const int version : schema.context_dependent_function_opset_versions()) {
    if (version <= opset) written_for = std::max(written_for, version);
  }
  if (written_for == 0) return nullptr;
  std::vector<onnx::TypeProto> types;
  for (const ir::ValueId input : inputs) {
    types.push_back(input == ir::kNone ? onnx::TypeProto() : type_of(graph.value(input)));
  }
  const onnx::FunctionBodyBuildContextImpl context(node, types);
  auto body = std::make_shared<onnx::FunctionProto>();
  if (!schema.BuildContextDependentFunction(context, *body, written_for)) return nullptr;
  return body;
}

onnx::NodeProto resolve_attributes(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                   const onnx::NodeProto& call, const onnx::OpSchema* schema) {
  onnx::NodeProto resolved = node;
  resolve(resolved, [&](const std::string& name) -> const onnx::AttributeProto* {
    if (const auto* given = find_attribute(call.attribute(), name)) return given;
    if (const auto* by_default = find_attribute(function.attribute_proto(), name)) return by_default;
    if (schema == nullptr) return nullptr;
    const auto found = schema->attributes().find(name);
    if (found == schema->attributes().end() || found->second.default_value.type() == onnx::AttributeProto::UNDEFINED) {
      return nullptr;
    }
    return &found->second.default_value;
  });
  return resolved;
}

}  // namespace planwright::builder::importer
