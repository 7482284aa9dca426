#include "tests/fuzz/mutate_model.h"

#include <onnx/defs/schema.h>

#include <string>
#include <vector>

namespace planwright::tests {
namespace {

size_t below(std::mt19937& random, size_t limit) { return random() % limit; }

// Numbers that checks get wrong.
int64_t odd_number(std::mt19937& random) {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  9,
                                  -2,
                                  -8,
                                  16,
                                  255,
                                  256,
                                  65536,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_MAX,
                                  INT64_MIN,
                                  int64_t{1} << 31,
                                  int64_t{1} << 40};
  return kNumbers[below(random, std::size(kNumbers))];
}

const std::string& any_operator(std::mt19937& random) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) all.push_back(schema.Name());
    return all;
  }();
  return names[below(random, names.size())];
}

// Every graph of the model, those of nodes' attributes among them.
void collect(onnx::GraphProto* graph, std::vector<onnx::GraphProto*>* graphs) {
  graphs->push_back(graph);
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) collect(attribute.mutable_g(), graphs);
    }
  }
}

std::string any_value(const onnx::GraphProto& graph, std::mt19937& random) {
  std::vector<std::string> names{""};
  for (const auto& value : graph.input()) names.push_back(value.name());
  for (const auto& value : graph.initializer()) names.push_back(value.name());
  for (const auto& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
  return names[below(random, names.size())];
}

void mutate_tensor(onnx::TensorProto* tensor, std::mt19937& random) {
  switch (below(random, 5)) {
    case 0:
      if (tensor->dims_size() > 0)
        tensor->set_dims(static_cast<int>(below(random, tensor->dims_size())), odd_number(random));
      break;
    case 1: tensor->set_data_type(static_cast<int>(below(random, 27))); break;
    case 2:
      if (tensor->int64_data_size() > 0) {
        tensor->set_int64_data(static_cast<int>(below(random, tensor->int64_data_size())), odd_number(random));
      }
      break;
    case 3:
      if (!tensor->raw_data().empty()) {
        std::string& raw = *tensor->mutable_raw_data();
        const int64_t number = odd_number(random);
        raw.replace(below(random, raw.size()) & ~size_t{7}, sizeof number, reinterpret_cast<const char*>(&number),
                    sizeof number);
      }
      break;
    default: tensor->add_dims(odd_number(random)); break;
  }
}

void mutate_attribute(onnx::AttributeProto* attribute, std::mt19937& random) {
  if (attribute->ints_size() > 0) {
    const int at = static_cast<int>(below(random, attribute->ints_size()));
    if (below(random, 4) == 0) {
      attribute->mutable_ints()->RemoveLast();
    } else {
      attribute->set_ints(at, odd_number(random));
    }
  } else if (attribute->floats_size() > 0) {
    attribute->set_floats(static_cast<int>(below(random, attribute->floats_size())),
                          static_cast<float>(odd_number(random)));
  } else if (attribute->has_t()) {
    mutate_tensor(attribute->mutable_t(), random);
  } else if (attribute->type() == onnx::AttributeProto::FLOAT) {
    attribute->set_f(static_cast<float>(odd_number(random)));
  } else {
    attribute->set_i(odd_number(random));
  }
}

void mutate_node(onnx::GraphProto* graph, onnx::NodeProto* node, std::mt19937& random) {
  switch (below(random, 6)) {
    case 0: node->set_op_type(any_operator(random)); break;
    case 1:
      if (node->input_size() > 0) {
        node->set_input(static_cast<int>(below(random, node->input_size())), any_value(*graph, random));
      }
      break;
    case 2: node->add_input(any_value(*graph, random)); break;
    case 3:
      if (node->input_size() > 0) node->mutable_input()->RemoveLast();
      break;
    default:
      if (node->attribute_size() > 0) {
        mutate_attribute(node->mutable_attribute(static_cast<int>(below(random, node->attribute_size()))), random);
      }
      break;
  }
}

void mutate_declaration(onnx::ValueInfoProto* value, std::mt19937& random) {
  onnx::TypeProto::Tensor* tensor = value->mutable_type()->mutable_tensor_type();
  if (below(random, 3) == 0) {
    tensor->set_elem_type(static_cast<int>(below(random, 27)));
    return;
  }
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  if (shape->dim_size() == 0 || below(random, 4) == 0) {
    shape->add_dim()->set_dim_value(odd_number(random));
  } else if (below(random, 2) == 0) {
    shape->mutable_dim(static_cast<int>(below(random, shape->dim_size())))->set_dim_value(odd_number(random));
  } else {
    shape->mutable_dim(static_cast<int>(below(random, shape->dim_size())))->set_dim_param("n");
  }
}

}  // namespace

void mutate(onnx::ModelProto* model, std::mt19937& random) {
  std::vector<onnx::GraphProto*> graphs;
  collect(model->mutable_graph(), &graphs);
  onnx::GraphProto* graph = graphs[below(random, graphs.size())];
  const size_t nodes = static_cast<size_t>(graph->node_size());
  switch (below(random, 10)) {
    case 0:
      if (graph->input_size() > 0) {
        mutate_declaration(graph->mutable_input(static_cast<int>(below(random, graph->input_size()))), random);
      }
      break;
    case 1:
      if (graph->initializer_size() > 0) {
        mutate_tensor(graph->mutable_initializer(static_cast<int>(below(random, graph->initializer_size()))), random);
      }
      break;
    case 2:
      if (model->opset_import_size() > 0) {
        model->mutable_opset_import(0)->set_version(static_cast<int64_t>(1 + below(random, 27)));
      }
      break;
    case 3:  // a node more, on what is there
      if (nodes > 0) {
        onnx::NodeProto* node = graph->add_node();
        *node = graph->node(static_cast<int>(below(random, nodes)));
        for (std::string& output : *node->mutable_output()) output += "_";
        mutate_node(graph, node, random);
        if (graph->output_size() > 0 && node->output_size() > 0) graph->mutable_output(0)->set_name(node->output(0));
      }
      break;
    case 4:
      if (nodes > 0) graph->mutable_node()->DeleteSubrange(static_cast<int>(below(random, nodes)), 1);
      break;
    default:
      if (nodes > 0) mutate_node(graph, graph->mutable_node(static_cast<int>(below(random, nodes))), random);
      break;
  }
}

}  // namespace planwright::tests
