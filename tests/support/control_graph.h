// Graphs with bodies, for tests.
#ifndef PLANWRIGHT_TESTS_SUPPORT_CONTROL_GRAPH_H_
#define PLANWRIGHT_TESTS_SUPPORT_CONTROL_GRAPH_H_

#include <memory>
#include <string>
#include <vector>

#include "builder/ir/control.h"
#include "tests/support/graph_builder.h"

namespace planwright::testing {

// Makes a body's outputs of its inputs.
using MakeBody = std::function<std::vector<ir::ValueId>(GraphBuilder& body, const std::vector<ir::ValueId>& inputs)>;

inline GraphBuilder body_of(const GraphBuilder& b) { return GraphBuilder{ir::Graph(b.graph.expr_pool())}; }

inline std::vector<ir::ValueId> add_formals(GraphBuilder& body, const GraphBuilder& b,
                                            const std::vector<ir::ValueId>& operands) {
  std::vector<ir::ValueId> formals;
  for (const ir::ValueId id : operands) {
    const ir::Value& value = b.graph.value(id);
    formals.push_back(body.input(value.name, value.dims, value.dtype));
  }
  return formals;
}

inline std::shared_ptr<ir::Graph> finished(GraphBuilder& body, const std::vector<ir::ValueId>& outputs) {
  for (const ir::ValueId id : outputs) body.output(id);
  return std::make_shared<ir::Graph>(std::move(body.graph));
}

// Whether the sum of all elements is positive.
inline ir::ValueId is_positive(GraphBuilder& b, const std::string& name, ir::ValueId x) {
  const uint32_t all = (1u << b.graph.value(x).dims.size()) - 1;
  const ir::ValueId sum = b.reduce(name + "_sum", ReduceKind::kSum, x, all);
  ir::SsaProgram program;
  program.store(program.convert(program.binary(PwOp::kLess, program.constant(0), program.load(0, PwClass::kFloat)),
                                PwClass::kUint));
  const ir::Shape dims = b.graph.value(sum).dims;
  ir::Node& node = b.node(OpKind::kPointwise, name, {sum}, NoParams{}, &dims, DType::kBool);
  node.program = *program.to_program();
  return node.outputs[0];
}

// Each branch gets all operands.
inline std::vector<ir::ValueId> add_if(GraphBuilder& b, const std::string& name, ir::ValueId condition,
                                       const std::vector<ir::ValueId>& operands, const MakeBody& then_branch,
                                       const MakeBody& else_branch) {
  std::vector<std::shared_ptr<ir::Graph>> bodies;
  std::vector<ir::ValueId> inputs{condition}, outputs;
  for (const MakeBody* make : {&then_branch, &else_branch}) {
    GraphBuilder body = body_of(b);
    const std::vector<ir::ValueId> made = (*make)(body, add_formals(body, b, operands));
    bodies.push_back(finished(body, made));
    inputs.insert(inputs.end(), operands.begin(), operands.end());
  }
  for (const ir::ValueId id : bodies[0]->outputs) {
    const ir::Value& made = bodies[0]->value(id);
    outputs.push_back(b.graph.add_value(name, made.dtype, made.dims).id);
  }
  ir::Node& node = b.graph.add_node(OpKind::kIf, NoParams{}, inputs, outputs);
  node.bodies = std::move(bodies);
  node.name = name;
  node.onnx = {name};
  return outputs;
}

// `trips` iterations. The body's inputs are the iteration (whose element is its symbol), `firsts` and `operands`; its
// outputs what becomes of `firsts`, then what is stacked. Returns the last states and the stacks.
inline std::vector<ir::ValueId> add_loop(GraphBuilder& b, const std::string& name, int64_t trips,
                                         const std::vector<ir::ValueId>& firsts,
                                         const std::vector<ir::ValueId>& operands, const MakeBody& make,
                                         bool has_condition = false) {
  GraphBuilder body = body_of(b);
  const ir::Dim iteration = b.graph.exprs().add_symbol(
      {ir::SymbolOrigin::kStepResult, ir::kNone, 0, 0, std::max<int64_t>(trips, 1) - 1, name + ":iteration"});
  std::vector<ir::ValueId> formals{body.input("iteration", {}, DType::kI64)};
  body.graph.value(formals[0]).elements = ir::Shape{iteration};
  std::vector<ir::ValueId> inputs{b.constant_int(name + "_trips", {}, {trips})};
  for (const std::vector<ir::ValueId>* list : {&firsts, &operands}) {
    const std::vector<ir::ValueId> added = add_formals(body, b, *list);
    formals.insert(formals.end(), added.begin(), added.end());
    inputs.insert(inputs.end(), list->begin(), list->end());
  }
  const std::vector<ir::ValueId> made = make(body, formals);
  const auto graph = finished(body, made);
  std::vector<ir::ValueId> outputs{b.graph.add_value(name + "_done", DType::kI64, {}).id};
  for (size_t i = 0; i < made.size(); ++i) {
    const ir::Value& value = graph->value(made[i]);
    ir::Shape dims = value.dims;
    if (i >= firsts.size()) dims.insert(dims.begin(), ir::Dim(trips));
    outputs.push_back(b.graph.add_value(name, value.dtype, dims).id);
  }
  ir::Node& node = b.graph.add_node(
      OpKind::kLoop, ir::LoopParams{static_cast<int32_t>(firsts.size()), has_condition ? 1 : 0}, inputs, outputs);
  node.bodies = {graph};
  node.name = name;
  node.onnx = {name};
  return {outputs.begin() + 1, outputs.end()};
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_CONTROL_GRAPH_H_
