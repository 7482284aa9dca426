#include "builder/spec.h"

#include <fmt/format.h>

#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

TensorView view_of(const Graph& graph, ValueId id, const SymbolValues& values) {
  TensorView view;
  if (id == kNone) {
    view.absent = true;
    return view;
  }
  const ir::Value& value = graph.value(id);
  const ir::Shape strides = placement_of(graph, id).strides;
  view.dtype = value.dtype;
  view.rank = value.rank();
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    view.dims[axis] = evaluate_at(value.dims[axis], values);
    view.strides[axis] = evaluate_at(strides[axis], values);
    if (view.dims[axis] < 0) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("axis {} of {} would be {} long", axis, value.name, view.dims[axis]));
    }
  }
  return view;
}

}  // namespace

tactics::StepSpec make_spec(const Graph& graph, const Node& node, const SymbolValues& values) try {
  tactics::StepSpec spec;
  spec.op = node.kind;
  spec.core_inputs = node.core_inputs;
  for (const ValueId input : node.inputs) {
    spec.inputs.push_back({view_of(graph, input, values), input == kNone ? nullptr : graph.value(input).constant});
  }
  for (const ValueId output : node.outputs) spec.outputs.push_back(view_of(graph, output, values));
  spec.params = ir::to_bytes(node.params);
  for (const ir::Dim scalar : node.scalars) spec.scalars.push_back(evaluate_at(scalar, values));
  spec.program = node.program;
  spec.name = node.name;
  return spec;
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("layer {}: {}", node.name, error.what()));
}

}  // namespace planwright::builder
