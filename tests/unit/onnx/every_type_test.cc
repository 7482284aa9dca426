// Every operator of every opset, in every type that its schema allows: the importer makes a graph that holds together
// or refuses with an Error. (Erf of integers, which the schema allows and hardly any model has, once made a program
// that no instruction fits.)
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <optional>
#include <set>
#include <string>

#include "builder/onnx/tensor_data.h"
#include "builder/passes/passes.h"
#include "tests/support/onnx_text.h"

namespace planwright::builder {
namespace {

using onnx::OpSchema;

// "tensor(float16)" as an element type's number; none for what is no tensor.
std::optional<int> tensor_type(const std::string& type) {
  constexpr std::string_view kPrefix = "tensor(";
  if (!type.starts_with(kPrefix) || !type.ends_with(')')) return std::nullopt;
  std::string name = type.substr(kPrefix.size(), type.size() - kPrefix.size() - 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  onnx::TensorProto_DataType number{};
  if (!onnx::TensorProto_DataType_Parse(name, &number)) return std::nullopt;
  return number;
}

std::set<int> tensor_types(const OpSchema::FormalParameter& parameter) {
  std::set<int> numbers;
  for (const std::string* type : parameter.GetTypes()) {
    if (const std::optional<int> number = tensor_type(*type)) numbers.insert(*number);
  }
  return numbers;
}

// A tensor of 2s; without a rank, of any dims.
void declare(onnx::ValueInfoProto* value, const std::string& name, int type, std::optional<int> rank) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  if (!rank) return;
  tensor->mutable_shape();
  for (int axis = 0; axis < *rank; ++axis) tensor->mutable_shape()->add_dim()->set_dim_value(2);
}

// Of input or output `index`: `type` where the schema says that it is the first input's, else the first that may be.
// None where it can be no tensor.
std::optional<int> type_of(const OpSchema& schema, const std::vector<OpSchema::FormalParameter>& parameters, int index,
                           int type) {
  const auto& parameter = parameters[std::min(static_cast<size_t>(index), parameters.size() - 1)];
  if (parameter.GetTypeStr() == schema.inputs()[0].GetTypeStr()) return type;
  const std::set<int> types = tensor_types(parameter);
  return types.empty() ? std::nullopt : std::optional(*types.begin());
}

// Numbers are 1 and lists have two, which many attributes can be; others stay empty.
void set_ones(onnx::AttributeProto_AttributeType type, const std::string& name, onnx::AttributeProto* attribute) {
  attribute->set_name(name);
  attribute->set_type(type);
  attribute->set_i(1);
  attribute->set_f(1);
  if (type == onnx::AttributeProto::INTS) attribute->mutable_ints()->Resize(2, 1);
  if (type == onnx::AttributeProto::FLOATS) attribute->mutable_floats()->Resize(2, 1);
}

// A model of the one node whose first input is of `type`. None where an input or output can be no tensor.
std::optional<onnx::ModelProto> model_of_node(const OpSchema& schema, int type, int rank) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  auto* opset = model.add_opset_import();
  opset->set_domain(schema.domain());
  opset->set_version(schema.since_version());
  auto* graph = model.mutable_graph();
  graph->set_name("g");
  auto* node = graph->add_node();
  node->set_op_type(schema.Name());
  node->set_domain(schema.domain());
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required) set_ones(attribute.type, name, node->add_attribute());
  }
  for (int i = 0; i < std::max(1, schema.min_input()); ++i) {
    const std::optional<int> of_input = type_of(schema, schema.inputs(), i, type);
    if (!of_input) return std::nullopt;
    node->add_input(fmt::format("x{}", i));
    declare(graph->add_input(), node->input(i), *of_input, rank);
  }
  for (int i = 0; i < std::max(1, schema.min_output()); ++i) {
    const std::optional<int> of_output = type_of(schema, schema.outputs(), i, type);
    if (!of_output) return std::nullopt;
    node->add_output(fmt::format("y{}", i));
    declare(graph->add_output(), node->output(i), *of_output, std::nullopt);
  }
  return model;
}

// What went wrong other than an Error; counts the models that were not refused.
std::string fault_of(onnx::ModelProto proto, int* imported) {
  try {
    const OnnxModel model = OnnxModel::from_proto(std::move(proto));
    ir::Graph graph = import_model(model, {profile_of(model, 2, 2)});
    run_passes(graph);
    ++*imported;
    return ir::verify(graph);
  } catch (const Error&) {
    return "";
  } catch (const std::exception& fault) {
    return fault.what();
  }
}

TEST(EveryType, OfEverySchemaIsImportedOrRefused) {
  int imported = 0;
  for (const OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.Deprecated() || schema.inputs().empty() || schema.outputs().empty()) continue;
    for (const int type : tensor_types(schema.inputs()[0])) {
      for (const int rank : {0, 2, 3, 4}) {
        std::optional<onnx::ModelProto> model = model_of_node(schema, type, rank);
        if (!model) continue;
        EXPECT_EQ(fault_of(std::move(*model), &imported), "")
            << schema.domain() << "." << schema.Name() << " of opset " << schema.since_version() << ", "
            << onnx_type_name(type) << ", rank " << rank;
      }
    }
  }
  EXPECT_GT(imported, 3000);
}

}  // namespace
}  // namespace planwright::builder
