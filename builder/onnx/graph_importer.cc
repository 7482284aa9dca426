#include "builder/onnx/graph_importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "builder/onnx/custom_operator.h"
#include "builder/onnx/function_body.h"
#include "builder/onnx/graph_check.h"
#include "builder/onnx/input_symbols.h"
#include "builder/onnx/node_check.h"
#include "builder/onnx/registry.h"
#include "builder/onnx/shape_arithmetic.h"
#include "builder/onnx/shape_inputs.h"
#include "builder/onnx/type_advice.h"
#include "planfmt/limits.h"

namespace planwright::builder::importer {
namespace {

// Functions that call functions; a chain this long is a call of itself.
constexpr int kMaxDepth = 32;
// Of nodes once functions and loops are written out. The largest models have some 10^5; functions that call one another
// twice double with every level.
constexpr int64_t kMaxNodes = 400'000;

std::string qualified(const std::string& domain, const std::string& op) {
  return plain_domain(domain).empty() ? op : domain + "::" + op;
}

std::string name_of_node(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

std::unordered_map<std::string, int64_t> opsets_of(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  std::unordered_map<std::string, int64_t> opsets;
  for (const onnx::OperatorSetIdProto& import : imports) opsets[plain_domain(import.domain())] = import.version();
  return opsets;
}

int64_t opset_of(const Scope& scope, const std::string& domain) {
  const auto found = scope.opsets.find(plain_domain(domain));
  return found == scope.opsets.end() ? 1 : found->second;
}

Declaration declaration_of(const onnx::ValueInfoProto& info, const std::unordered_map<std::string, Dim>& named) {
  Declaration declaration;
  if (!info.type().has_tensor_type()) return declaration;
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  declaration.dtype = dtype_of_onnx(type.elem_type());
  if (!type.has_shape()) return declaration;
  declaration.dims.emplace();
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    std::optional<Dim>& made = declaration.dims->emplace_back();
    if (dim.has_dim_value() && dim.dim_value() >= 0) made = dim.dim_value();
    const auto found = named.find(dim.dim_param());
    if (dim.has_dim_param() && found != named.end()) made = found->second;
  }
  return declaration;
}

// The branch that an If takes, where its condition is a constant; null for other nodes.
const onnx::GraphProto* known_branch(const onnx::NodeProto& node, const std::string& domain,
                                     const std::vector<ValueId>& inputs, const ir::Graph& graph) {
  if (node.op_type() != "If" || !domain.empty() || inputs.size() != 1 || inputs[0] < 0) return nullptr;
  const std::optional<Shape>& condition = graph.value(inputs[0]).elements;
  if (!condition || condition->size() != 1 || !(*condition)[0].is_constant()) return nullptr;
  const char* taken = (*condition)[0].constant() != 0 ? "then_branch" : "else_branch";
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == taken && attribute.has_g()) return &attribute.g();
  }
  return nullptr;
}

bool is_known(ValueId id) { return id != Scope::kUnknown; }

}  // namespace

GraphImporter::GraphImporter(const OnnxModel& model, const std::vector<Profile>& profiles)
    : model_(model), profiles_(profiles) {
  graph_.name = model.proto().graph().name();
  static_inputs_ = std::all_of(model.inputs().begin(), model.inputs().end(),
                               [](const TensorDecl& input) { return input.is_static(); });
  for (const onnx::FunctionProto& function : model.proto().functions()) {
    functions_[qualified(function.domain(), function.name())] = &function;
  }
}

void GraphImporter::run() {
  const onnx::GraphProto& graph = model_.proto().graph();
  Scope scope;
  scope.graph = &graph_;
  scope.opsets = opsets_of(model_.proto().opset_import());
  for (const TensorDecl& input : model_.inputs()) {
    if (!input.unsupported.empty())
      unsupported_.push_back({input.name, "input", opset_of(scope, ""), input.unsupported});
  }
  add_inputs(scope);
  add_initializers(scope);
  for (const onnx::NodeProto* node : needed_nodes(graph)) import_node(*node, scope);
  for (const TensorDecl& output : model_.outputs()) {
    if (!output.unsupported.empty()) {
      unsupported_.push_back({output.name, "output", opset_of(scope, ""), output.unsupported});
    }
  }
  if (unsupported_.empty()) add_outputs(scope);
}

void GraphImporter::add_inputs(Scope& scope) {
  const onnx::GraphProto& graph = model_.proto().graph();
  const ModelInputs inputs = add_model_inputs(graph_, model_, profiles_, values_that_shape(graph));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    scope.values[model_.inputs()[i].name] = inputs.values[i] == ir::kNone ? Scope::kUnknown : inputs.values[i];
  }
  for (const onnx::ValueInfoProto& info : graph.value_info()) {
    scope.declarations[info.name()] = declaration_of(info, inputs.named);
  }
  for (const onnx::ValueInfoProto& info : graph.output()) {
    scope.declarations[info.name()] = declaration_of(info, inputs.named);
  }
}

void GraphImporter::add_initializers(Scope& scope) {
  for (const onnx::TensorProto& tensor : model_.proto().graph().initializer()) {
    scope.initializers[tensor.name()] = &tensor;
  }
}

std::optional<ValueId> GraphImporter::find(Scope& scope, const std::string& name) {
  if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
  if (const auto tensor = scope.initializers.find(name); tensor != scope.initializers.end()) {
    if (tensor->second->data_type() == onnx::TensorProto::STRING) return scope.values[name] = kText;
    ir::Tensor data = read_tensor(*tensor->second, fmt::format("initializer '{}'", name));
    ir::Value& value = scope.graph->add_constant(name, data.dtype, data.dims, std::move(data.data));
    attach_elements(value);
    return scope.values[name] = value.id;
  }
  if (scope.outer == nullptr) return std::nullopt;
  const std::optional<ValueId> outside = find(*scope.outer, name);
  const bool is_outside = outside && (*outside >= 0 || Scope::is_list(*outside));
  if (!is_outside || scope.graph == scope.outer->graph) return outside;
  return scope.values[name] = capture(scope, *outside);
}

void GraphImporter::refuse(const onnx::NodeProto& node, const Scope& scope, const std::string& reason) {
  Unsupported entry;
  entry.node = scope.layer.empty() ? name_of_node(node) : scope.layer + "/" + name_of_node(node);
  entry.op = qualified(node.domain(), node.op_type());
  entry.opset = opset_of(scope, node.domain());
  entry.reason = reason;
  unsupported_.push_back(std::move(entry));
}

void GraphImporter::count_import(const std::string& layer) {
  if (++imported_ <= kMaxNodes) return;
  throw Error(StatusCode::kUnsupported,
              fmt::format("{}: the model has more than {} nodes once its functions and loops are written out", layer,
                          kMaxNodes));
}

std::optional<std::vector<ValueId>> GraphImporter::find_inputs(const onnx::NodeProto& node, Scope& scope) {
  std::vector<ValueId> inputs;
  bool known = true;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.push_back(ir::kNone);
      continue;
    }
    std::optional<ValueId> value;
    try {
      value = find(scope, name);
    } catch (const Error& error) {  // of an initializer
      if (error.code() != StatusCode::kUnsupported) throw;
      refuse(node, scope, error.what());
      return std::nullopt;
    }
    if (!value) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} ({}): nothing makes its input '{}'", name_of_node(node), node.op_type(), name));
    }
    if (*value == kText && node.op_type() != "Identity") {
      refuse(node, scope,
             fmt::format("its input '{}' is of strings, which are not supported{}", name,
                         advice_on_type(onnx::TensorProto::STRING)));
      return std::nullopt;
    }
    known = known && is_known(*value);
    inputs.push_back(*value);
  }
  while (!inputs.empty() && inputs.back() == ir::kNone) inputs.pop_back();
  if (!known) return std::nullopt;
  return inputs;
}

void GraphImporter::judge_by_name(const onnx::NodeProto& node, const Scope& scope) {
  count_import(name_of_node(node));  // its functions may double with every level, as those that are imported
  const int64_t opset = opset_of(scope, node.domain());
  const auto function = functions_.find(qualified(node.domain(), node.op_type()));
  if (function == functions_.end() && !is_supported_operator(node, opset)) {
    refuse(node, scope, unknown_operator_reason(node, opset));
    return;
  }
  Scope inner;
  inner.opsets = scope.opsets;
  inner.layer = scope.layer.empty() ? name_of_node(node) : scope.layer + "/" + name_of_node(node);
  inner.depth = scope.depth + 1;
  if (inner.depth > kMaxDepth) return;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const onnx::NodeProto* child : needed_nodes(attribute.g())) judge_by_name(*child, inner);
  }
  if (function == functions_.end()) return;
  for (const auto& [domain, version] : opsets_of(function->second->opset_import())) inner.opsets[domain] = version;
  for (const onnx::NodeProto* child : needed_nodes(*function->second, node)) judge_by_name(*child, inner);
}

void GraphImporter::import_node(const onnx::NodeProto& node, Scope& scope) {
  count_import(name_of_node(node));
  const size_t refused = unsupported_.size();
  const std::optional<std::vector<ValueId>> inputs = find_inputs(node, scope);
  if (inputs) {
    try {
      import_operator(node, scope, *inputs);
    } catch (const ir::Overflow& overflow) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} ({}): {} at the profile's shapes; correct its numbers or give smaller shapes",
                              name_of_node(node), node.op_type(), overflow.what()));
    } catch (const Refusal& refusal) {
      refuse(node, scope, refusal.reason);
    } catch (const Error& error) {
      if (error.code() != StatusCode::kUnsupported) throw;
      refuse(node, scope, error.what());
    }
  } else if (unsupported_.size() == refused) {
    judge_by_name(node, scope);
  }
  if (!inputs || unsupported_.size() > refused) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) scope.values[name] = Scope::kUnknown;
    }
  }
}

void GraphImporter::import_operator(const onnx::NodeProto& node, Scope& scope, std::vector<ValueId> inputs) {
  const std::string domain = plain_domain(node.domain());
  const std::string own_name = name_of_node(node);
  const std::string layer = scope.layer.empty() ? own_name : scope.layer + "/" + own_name;
  const CustomOperator* custom = find_custom(node);  // before anything else that knows such a node
  if (const auto function = functions_.find(qualified(domain, node.op_type()));
      custom == nullptr && function != functions_.end()) {
    import_function(*function->second, node, scope, inputs, layer);
    return;
  }
  const int64_t opset = opset_of(scope, domain);
  const onnx::OpSchema* schema = custom != nullptr ? nullptr : find_schema(node, opset);
  if (const onnx::GraphProto* branch = known_branch(node, domain, inputs, *scope.graph)) {
    import_branch(*branch, node, scope, layer);
    return;
  }
  if (is_control_flow(domain, node.op_type()) && schema != nullptr) {
    check_node(node, *schema, opset, layer);
    import_control(node, scope, inputs, layer);
    return;
  }
  if (schema != nullptr && is_sequence_operator(domain, node.op_type())) {
    check_node(node, *schema, opset, layer);
    import_sequence(node, scope, inputs, layer);
    return;
  }
  const bool has_list = std::any_of(inputs.begin(), inputs.end(), Scope::is_list);
  const bool has_text = !inputs.empty() && inputs[0] == kText;
  if (has_list && node.op_type() != "Identity") {
    throw Refusal(layer, "it takes a sequence or an empty optional; replace it by tensors");
  }
  if (has_list || has_text) {
    scope.values[node.output(0)] = inputs[0];
    return;
  }
  const ImportFunction import = custom != nullptr ? nullptr : find_importer(domain, node.op_type());
  // An operator of ONNX's that the opset has not: its form is not known. Exporters' own operators have no schema.
  if (custom == nullptr && schema == nullptr &&
      (import == nullptr || find_schema(node, newest_opset(domain)) != nullptr)) {
    throw Refusal(layer, unknown_operator_reason(node, opset));
  }
  if (schema != nullptr) {
    check_node(node, *schema, opset, layer);
    check_types(node, *schema, opset, layer, *scope.graph, inputs);
  }

  if (custom == nullptr && import == nullptr) {
    const auto body = schema_function(node, *schema, static_cast<int>(opset), *scope.graph, inputs);
    if (body == nullptr) throw Refusal(layer, unknown_operator_reason(node, opset));
    import_function(*body, node, scope, inputs, layer);
    return;
  }
  NodeContext::Setting setting;
  setting.node = &node;
  setting.schema = schema;
  setting.opset = opset;
  setting.inputs = std::move(inputs);
  for (const std::string& output : node.output()) setting.declared.push_back(scope.declarations[output]);
  setting.layer = layer;
  setting.onnx = scope.onnx.empty() ? own_name : scope.onnx;
  setting.prefix = layer + ":part";
  ir::Graph& graph = *scope.graph;
  const ValueId first_made = graph.value_count();
  NodeContext context(graph, std::move(setting));
  if (custom != nullptr) {
    import_custom(context, *custom);
    bind_outputs(context, first_made, node, scope);
    return;
  }

  const std::optional<std::vector<KnownTensor>> known = shape_arithmetic(context);
  const bool has_virtual = std::any_of(context.ins().begin(), context.ins().end(),
                                       [&](ValueId id) { return id != ir::kNone && context.is_virtual(id); });
  const bool has_data = std::any_of(context.ins().begin(), context.ins().end(), [&](ValueId id) {
    return id != ir::kNone && !context.is_virtual(id) && !context.value(id).is_constant();
  });
  if (known && has_virtual && !has_data) {
    for (size_t i = 0; i < known->size(); ++i) {
      const KnownTensor& tensor = (*known)[i];
      guard_against_wrapping(context, tensor);
      context.set(static_cast<int>(i), context.shape_values(tensor.dtype, tensor.dims, tensor.elements));
    }
  } else {
    import(context);
    // What came of run-time data can still be known as an expression of an input's values.
    for (size_t i = 0; known && has_data && i < known->size(); ++i) {
      const ValueId output = context.outputs()[i];
      if (output == ir::kNone || graph.value(output).elements || graph.value(output).dims != (*known)[i].dims) continue;
      if (may_wrap((*known)[i])) continue;
      graph.value(output).elements = (*known)[i].elements;
    }
  }
  bind_outputs(context, first_made, node, scope);
}

void GraphImporter::bind_outputs(const NodeContext& context, ValueId first_made, const onnx::NodeProto& node,
                                 Scope& scope) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const ValueId id = context.outputs()[static_cast<size_t>(i)];
    if (id == ir::kNone) {
      throw Refusal(context.title(), fmt::format("its output {} ('{}') is not supported", i, name));
    }
    scope.values[name] = id;
    if (id == kText) continue;
    name_value(id, first_made, scope, name);
    // Exporters leave stale shapes of intermediate values behind when a batch is made dynamic; what a model that is
    // static throughout declares has no such excuse.
    if (static_inputs_) check_declaration(context, scope.declarations[name], scope.graph->value(id), name);
  }
}

// A value made for the node gets the model's name; one that merely passes through keeps its own.
void GraphImporter::name_value(ValueId id, ValueId first_made, const Scope& scope, const std::string& name) {
  if (id >= first_made) scope.graph->rename_value(id, scope.layer.empty() ? name : scope.layer + "/" + name);
}

void GraphImporter::import_function(const onnx::FunctionProto& function, const onnx::NodeProto& call, Scope& scope,
                                    const std::vector<ValueId>& inputs, const std::string& layer) {
  if (scope.depth >= kMaxDepth) {
    throw Error(StatusCode::kInvalid, fmt::format("{}: function '{}' calls itself", layer, function.name()));
  }
  const ValueId first_made = scope.graph->value_count();
  Scope inner;
  inner.graph = scope.graph;
  inner.bodies = scope.bodies;
  inner.depth = scope.depth + 1;
  inner.layer = layer;
  inner.onnx = scope.onnx.empty() ? name_of_node(call) : scope.onnx;
  inner.opsets = opsets_of(function.opset_import());
  for (const auto& [domain, version] : scope.opsets) inner.opsets.emplace(domain, version);
  for (int i = 0; i < function.input_size(); ++i) {
    const auto given = static_cast<size_t>(i);
    inner.values[function.input(i)] = given < inputs.size() ? inputs[given] : ir::kNone;
  }
  for (int i = 0; i < std::min(function.output_size(), call.output_size()); ++i) {
    inner.declarations[function.output(i)] = scope.declarations[call.output(i)];
  }
  const onnx::OpSchema* schema = find_schema(call, opset_of(scope, call.domain()));
  for (const onnx::NodeProto* node : needed_nodes(function, call)) {
    const onnx::NodeProto resolved = resolve_attributes(*node, function, call, schema);
    import_node(resolved, inner);
  }
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    if (i >= function.output_size()) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: function '{}' has no output {}", layer, function.name(), i));
    }
    const std::optional<ValueId> made = find(inner, function.output(i));
    if (!made) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: function '{}' does not make its output '{}'", layer,
                                                    function.name(), function.output(i)));
    }
    scope.values[call.output(i)] = *made;
    if (*made >= 0) name_value(*made, first_made, scope, call.output(i));
  }
}

Scope GraphImporter::inner_scope(const onnx::GraphProto& proto, const onnx::NodeProto& node, Scope& outer,
                                 const std::string& layer, ir::Graph* graph) {
  Scope inner;
  inner.outer = &outer;
  inner.graph = graph;
  inner.depth = outer.depth + 1;
  inner.bodies = outer.bodies + (graph == outer.graph ? 0 : 1);
  if (inner.bodies > planfmt::kMaxRegionDepth) {
    throw Refusal(layer, fmt::format("If, Loop and Scan are nested more than {} deep", planfmt::kMaxRegionDepth));
  }
  inner.layer = layer;
  inner.onnx = outer.onnx.empty() ? name_of_node(node) : outer.onnx;
  inner.opsets = outer.opsets;
  for (const onnx::TensorProto& tensor : proto.initializer()) inner.initializers[tensor.name()] = &tensor;
  return inner;
}

void GraphImporter::import_branch(const onnx::GraphProto& branch, const onnx::NodeProto& node, Scope& scope,
                                  const std::string& layer) {
  const ValueId first_made = scope.graph->value_count();
  Scope inner = inner_scope(branch, node, scope, layer, scope.graph);
  for (const onnx::NodeProto* child : needed_nodes(branch)) import_node(*child, inner);
  if (branch.output_size() < node.output_size()) {
    throw Error(StatusCode::kInvalid, fmt::format("{} (If): a branch has {} outputs, not {}", layer,
                                                  branch.output_size(), node.output_size()));
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const std::optional<ValueId> made = find(inner, branch.output(i).name());
    if (!made) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} (If): nothing makes output '{}' of a branch", layer, branch.output(i).name()));
    }
    scope.values[node.output(i)] = *made;
    if (*made >= 0) name_value(*made, first_made, scope, node.output(i));
  }
}

void GraphImporter::add_outputs(Scope& scope) {
  Emitter emitter(graph_, "outputs", "", "outputs");
  for (const TensorDecl& output : model_.outputs()) {
    const std::optional<ValueId> id = find(scope, output.name);
    if (!id) throw Error(StatusCode::kInvalid, fmt::format("nothing makes output '{}'", output.name));
    if (Scope::is_list(*id)) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("output '{}' is declared as a tensor, but is a sequence", output.name));
    }
    if (*id == kText) {
      throw Error(StatusCode::kUnsupported, fmt::format("output '{}' is of strings, which are not supported{}",
                                                        output.name, advice_on_type(onnx::TensorProto::STRING)));
    }
    emitter.materialize(*id);
    check_output(output, graph_.value(*id));
    graph_.outputs.push_back(*id);
    graph_.output_names.push_back(output.binding);
  }
}

void GraphImporter::check_output(const TensorDecl& declared, const ir::Value& value) {
  const bool same_type = declared.dtype == value.dtype;
  bool same_dims = !declared.has_shape || declared.dims.size() == value.dims.size();
  for (size_t i = 0; declared.has_shape && same_dims && i < value.dims.size(); ++i) {
    same_dims = declared.dims[i] < 0 || !ir::proven_different(declared.dims[i], value.dims[i]);
  }
  if (same_type && same_dims) return;
  std::vector<std::string> dims;
  for (const int64_t dim : declared.dims) dims.push_back(dim < 0 ? "?" : std::to_string(dim));
  const std::string both =
      fmt::format("output '{}' is declared as {}[{}], but the graph makes {}{}", declared.name, name_of(declared.dtype),
                  fmt::join(dims, ", "), name_of(value.dtype), ir::to_string(value.dims));
  // Exporters of dynamic models declare dims of 1 that are none, and [N] for [N, 1].
  if (!same_type || static_inputs_) throw Error(StatusCode::kInvalid, both + "; correct the declaration");
  graph_.warnings.push_back(both + "; what the graph makes is the engine's");
}

}  // namespace planwright::builder::importer
