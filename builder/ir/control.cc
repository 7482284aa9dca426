#include "builder/ir/control.h"

#include <fmt/format.h>

namespace planwright::ir {
namespace {

bool is_loop(const Node& node) { return node.kind == OpKind::kLoop; }

bool same_dims(const Shape& a, const Shape& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = proven_equal(a[i], b[i]);
  return same;
}

std::string text_of(const Value& value) {
  return fmt::format("%{}: {}{}", value.name, planwright::name_of(value.dtype), to_string(value.dims));
}

std::string differ(const Value& a, const Value& b) { return fmt::format("{} and {} differ", text_of(a), text_of(b)); }

bool is_one(const Value& value, DType dtype) { return value.dtype == dtype && product(value.dims) == Dim(1); }

std::string check_counts(const Node& node) {
  if (static_cast<int>(node.bodies.size()) != bodies_of(node.kind)) return fmt::format("{} bodies", node.bodies.size());
  size_t inputs = is_loop(node) ? 0 : 1;
  const size_t outputs = node.outputs.size() - (is_loop(node) ? 1 : 0);
  for (const auto& body : node.bodies) {
    inputs += body->inputs.size();
    if (body->outputs.size() != outputs) {
      return fmt::format("a body has {} outputs where {} are wanted", body->outputs.size(), outputs);
    }
  }
  if (inputs != node.inputs.size()) return fmt::format("{} inputs for {} of bodies", node.inputs.size(), inputs);
  if (!is_loop(node)) return "";
  const auto carried = static_cast<size_t>(node.as<LoopParams>().carried);
  if (carried > outputs || carried >= inputs) return fmt::format("{} carried values", carried);
  return "";
}

std::string check_own_operands(const Graph& graph, const Node& node) {
  if (!is_loop(node)) {
    return is_one(graph.value(node.inputs[0]), DType::kBool) ? "" : "its condition is not one bool";
  }
  const bool has_condition = node.as<LoopParams>().has_condition != 0;
  if (node.inputs[0] == kNone && !has_condition) return "nothing ends it";
  if (node.inputs[0] != kNone && !is_one(graph.value(node.inputs[0]), DType::kI64)) {
    return "its trip count is not one int64";
  }
  if (has_condition && (node.as<LoopParams>().carried < 1 || !is_one(graph.value(node.inputs[1]), DType::kBool))) {
    return "its condition is not one bool";
  }
  if (iteration_of(node) == kNone) return "its iteration is no symbol";
  return "";
}

std::string check_formals(const Graph& graph, const Node& node) {
  for (size_t b = 0; b < node.bodies.size(); ++b) {
    const Graph& body = *node.bodies[b];
    if (body.expr_pool() != graph.expr_pool()) return "a body has expressions of its own";
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      const Value &formal = body.value(body.inputs[i]), &given = graph.value(value_behind(node, b, i));
      if (formal.dtype != given.dtype || !same_dims(formal.dims, given.dims)) return differ(formal, given);
    }
  }
  return "";
}

std::string check_results(const Graph& graph, const Node& node) {
  for (const auto& body : node.bodies) {
    for (size_t i = 0; i < body->outputs.size(); ++i) {
      const Value &made = body->value(body->outputs[i]), &result = graph.value(node.outputs[result_of(node, i)]);
      Shape dims = result.dims;
      if (is_loop(node) && !is_carried(node, i)) {
        if (dims.empty()) return fmt::format("%{} has no axis to stack along", result.name);
        dims.erase(dims.begin());
      }
      if (made.dtype != result.dtype || !same_dims(made.dims, dims)) return differ(made, result);
      if (!is_carried(node, i)) continue;
      const Value& first = graph.value(node.inputs[i + 1]);
      if (!same_dims(first.dims, result.dims)) return differ(first, result);
    }
  }
  return "";
}

}  // namespace

size_t operand_behind(const Node& node, size_t body, size_t formal) {
  if (is_loop(node)) return formal;
  return formal + 1 + (body == 0 ? 0 : node.bodies[0]->inputs.size());
}

ValueId value_behind(const Node& node, size_t body, size_t formal) {
  if (is_loop(node) && formal == 0) return node.outputs[0];
  return node.inputs[operand_behind(node, body, formal)];
}

size_t result_of(const Node& node, size_t body_output) { return is_loop(node) ? body_output + 1 : body_output; }

bool is_carried(const Node& node, size_t body_output) {
  return is_loop(node) && body_output < static_cast<size_t>(node.as<LoopParams>().carried);
}

int32_t symbol_of(Dim dim) {
  if (dim.is_constant()) return kNone;
  std::vector<ExprInstr> list;
  flatten(dim, list);
  return list.size() == 1 && list[0].op == ExprOp::kSymbol ? static_cast<int32_t>(list[0].value) : kNone;
}

int32_t iteration_of(const Node& loop) {
  const Graph& body = *loop.bodies[0];
  const std::optional<Shape>& elements = body.value(body.inputs[0]).elements;
  return elements && elements->size() == 1 ? symbol_of((*elements)[0]) : kNone;
}

std::string verify_control(const Graph& graph, const Node& node) {
  for (const ValueId id : node.outputs) {
    if (id == kNone) return "an output is missing";
  }
  if (std::string wrong = check_counts(node); !wrong.empty()) return wrong;
  for (const auto check : {check_own_operands, check_formals, check_results}) {
    if (std::string wrong = check(graph, node); !wrong.empty()) return wrong;
  }
  for (const auto& body : node.bodies) {
    if (std::string wrong = verify(*body); !wrong.empty()) return "body: " + wrong;
  }
  return "";
}

}  // namespace planwright::ir
