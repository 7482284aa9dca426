#include "builder/onnx/node_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "builder/onnx/custom_operator.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/tensor_data.h"

namespace planwright::builder::importer {
namespace {

bool counts_fit(int given, int least, int most) { return given >= least && given <= most; }

// Whether an input, or the variadic one that it belongs to, may be of the type.
bool takes(const onnx::OpSchema& schema, size_t input, const std::string& type) {
  if (schema.inputs().empty()) return false;
  const auto& types = schema.inputs()[std::min(input, schema.inputs().size() - 1)].GetTypes();
  return std::any_of(types.begin(), types.end(), [&](const std::string* name) { return *name == type; });
}

}  // namespace

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

int64_t newest_opset(const std::string& domain) {
  const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find(domain);
  return found == versions.end() ? 0 : found->second.second;
}

const onnx::OpSchema* find_schema(const onnx::NodeProto& node, int64_t opset) {
  const std::string domain = plain_domain(node.domain());
  if (opset > newest_opset(domain)) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), domain);
}

void check_node(const onnx::NodeProto& node, const onnx::OpSchema& schema, int64_t opset, const std::string& layer) {
  const auto fail = [&](const std::string& what) {
    throw Error(StatusCode::kInvalid, fmt::format("{} ({}, opset {}): {}", layer, node.op_type(), opset, what));
  };
  if (schema.deprecated() && find_importer(plain_domain(node.domain()), node.op_type()) == nullptr) {
    throw Error(StatusCode::kUnsupported,
                fmt::format("{} was removed from ONNX before opset {}; export the model anew", node.op_type(), opset));
  }
  if (!schema.deprecated()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const auto found = schema.attributes().find(attribute.name());
      if (found == schema.attributes().end()) {
        // A name that begins with two underscores is a tool's own note.
        if (attribute.name().starts_with("__")) continue;
        fail(fmt::format("it has no attribute '{}' in this opset; correct the attribute or the model's opset",
                         attribute.name()));
      }
      if (attribute.type() != found->second.type) {
        fail(fmt::format("attribute '{}' is of type {}, not {}", attribute.name(),
                         onnx::AttributeProto_AttributeType_Name(attribute.type()),
                         onnx::AttributeProto_AttributeType_Name(found->second.type)));
      }
    }
    for (const auto& attribute : schema.attributes()) {
      const std::string& name = attribute.first;
      const bool given = std::any_of(node.attribute().begin(), node.attribute().end(),
                                     [&](const onnx::AttributeProto& own) { return own.name() == name; });
      if (attribute.second.required && !given) fail(fmt::format("its attribute '{}' is missing", name));
    }
  }
  if (!counts_fit(node.input_size(), schema.min_input(), schema.max_input())) {
    fail(fmt::format("it has {} inputs, not {} to {}", node.input_size(), schema.min_input(), schema.max_input()));
  }
  if (!counts_fit(node.output_size(), schema.min_output(), schema.max_output())) {
    fail(fmt::format("it has {} outputs, not {} to {}", node.output_size(), schema.min_output(), schema.max_output()));
  }
  for (int i = 0; i < std::min(node.input_size(), static_cast<int>(schema.inputs().size())); ++i) {
    const auto& formal = schema.inputs()[static_cast<size_t>(i)];
    if (node.input(i).empty() && formal.GetOption() == onnx::OpSchema::Single) {
      fail(fmt::format("its input '{}' is missing", formal.GetName()));
    }
  }
}

bool is_control_flow(const std::string& domain, const std::string& op) {
  return domain.empty() && (op == "If" || op == "Loop" || op == "Scan");
}

void check_types(const onnx::NodeProto& node, const onnx::OpSchema& schema, int64_t opset, const std::string& layer,
                 const ir::Graph& graph, const std::vector<ValueId>& inputs) {
  if (schema.deprecated() || schema.inputs().empty()) return;
  const onnx::OpSchema* newest = find_schema(node, newest_opset(plain_domain(node.domain())));
  std::map<std::string, DType> bound;  // "T" -> the type of the first input that has it
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == ir::kNone) continue;
    const onnx::OpSchema::FormalParameter& formal = schema.inputs()[std::min(i, schema.inputs().size() - 1)];
    const DType dtype = graph.value(inputs[i]).dtype;
    const std::string type = fmt::format("tensor({})", onnx_type_name(onnx_type_of(dtype)));
    const auto fail = [&](const std::string& what) {
      throw Error(StatusCode::kInvalid, fmt::format("{} ({}, opset {}): its input '{}' is {}, {}", layer,
                                                    node.op_type(), opset, formal.GetName(), name_of(dtype), what));
    };
    // Exporters write bf16 operators at opsets that had none yet: a type that came later means the same.
    if (!takes(schema, i, type) && !(newest != nullptr && takes(*newest, i, type))) {
      fail("a type that it does not take in any opset");
    }
    if (!formal.GetIsHomogeneous()) continue;
    const auto [first, is_new] = bound.emplace(formal.GetTypeStr(), dtype);
    if (!is_new && first->second != dtype) {
      fail(fmt::format("and another that must be of the same type is {}", name_of(first->second)));
    }
  }
}

bool is_supported_operator(const onnx::NodeProto& node, int64_t opset) {
  const std::string domain = plain_domain(node.domain());
  if (is_control_flow(domain, node.op_type()) || is_sequence_operator(domain, node.op_type())) return true;
  if (find_custom(node) != nullptr || find_importer(domain, node.op_type()) != nullptr) return true;
  const onnx::OpSchema* schema = find_schema(node, opset);
  return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

std::string unknown_operator_reason(const onnx::NodeProto& node, int64_t opset) {
  const std::string domain = plain_domain(node.domain());
  if (domain == "com.microsoft") {
    return fmt::format(
        "it is not among the operators of the domain '{}' that Planwright knows; replace the node by ONNX's own operators, "
        "or load a plugin that has it (--plugins=FILE)",
        domain);
  }
  if (newest_opset(domain) == 0) {
    return fmt::format(
        "the domain '{}' is not known; replace the node by ONNX's own operators, or load a plugin "
        "that has it (--plugins=FILE)",
        domain);
  }
  if (opset > newest_opset(domain)) {
    return fmt::format("opset {} is newer than {}, the newest known; convert the model to that", opset,
                       newest_opset(domain));
  }
  if (find_schema(node, opset) == nullptr) {
    return fmt::format("ONNX has no such operator in opset {}; correct its name or the model's opset", opset);
  }
  return "the operator is not supported; replace it by others or simplify the model before building";
}

void check_declaration(const NodeContext& node, const Declaration& declared, const ir::Value& made,
                       const std::string& name) {
  bool fits = !declared.dtype || *declared.dtype == made.dtype;
  if (declared.dims) {
    fits = fits && declared.dims->size() == made.dims.size();
    for (size_t i = 0; fits && i < made.dims.size(); ++i) {
      const std::optional<Dim>& dim = (*declared.dims)[i];
      fits = !dim || !ir::proven_different(*dim, made.dims[i]);
    }
  }
  if (fits) return;
  std::vector<std::string> dims;
  for (const auto& dim : declared.dims.value_or(std::vector<std::optional<Dim>>{})) {
    dims.push_back(dim ? ir::to_string(*dim) : "?");
  }
  node.invalid(fmt::format("'{}' is declared as {}{}, but is {}{}; correct the model's declaration", name,
                           declared.dtype ? name_of(*declared.dtype) : "?",
                           declared.dims ? fmt::format("[{}]", fmt::join(dims, ", ")) : " of any shape",
                           name_of(made.dtype), ir::to_string(made.dims)));
}

}  // namespace planwright::builder::importer
