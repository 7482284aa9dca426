#include "builder/spec.h"

#include <fmt/format.h>

#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

// `value_of`: a dim's or stride's number.
template <typename ValueOf>
TensorView view_of(const Graph& graph, ValueId id, const ValueOf& value_of) {
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
    view.dims[axis] = value_of(value.dims[axis]);
    view.strides[axis] = value_of(strides[axis]);
    if (view.dims[axis] < 0) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("axis {} of {} would be {} long", axis, value.name, view.dims[axis]));
    }
  }
  return view;
}

template <typename ValueOf, typename ScalarOf>
tactics::StepSpec spec_of(const Graph& graph, const Node& node, const ValueOf& value_of, const ScalarOf& scalar_of) {
  tactics::StepSpec spec;
  spec.op = node.kind;
  spec.core_inputs = node.core_inputs;
  for (const ValueId input : node.inputs) {
    spec.inputs.push_back({view_of(graph, input, value_of), input == kNone ? nullptr : graph.value(input).constant});
  }
  for (const ValueId output : node.outputs) spec.outputs.push_back(view_of(graph, output, value_of));
  spec.params = ir::to_bytes(node.params);
  for (const ir::Dim scalar : node.scalars) spec.scalars.push_back(scalar_of(scalar));
  spec.program = node.program;
  spec.name = node.name;
  if (node.kind == OpKind::kCustom) spec.custom = node.as<ir::CustomParams>().op;
  return spec;
}

}  // namespace

tactics::StepSpec make_spec(const Graph& graph, const Node& node, const SymbolValues& values) try {
  const auto value_of = [&](ir::Dim dim) { return evaluate_at(dim, values); };
  return spec_of(graph, node, value_of, value_of);
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("layer {}: {}", node.name, error.what()));
}

tactics::StepSpec make_largest_spec(const Graph& graph, const Node& node, const Box& box) {
  constexpr int64_t kUnbounded = int64_t{1} << 40;
  return spec_of(
      graph, node, [&](ir::Dim dim) { return box.upper_bound(dim); },
      [&](ir::Dim scalar) {
        const int64_t bound = box.upper_bound(scalar);
        return bound < kUnbounded ? bound : evaluate_at(scalar, box.opt());
      });
}

}  // namespace planwright::builder
