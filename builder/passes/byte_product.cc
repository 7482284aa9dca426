#include "builder/passes/byte_product.h"

#include <string>
#include <utility>

namespace planwright::builder {

using ir::kNone;
using ir::ValueId;

bool has_byte_kernels(const ir::Graph& graph, const ir::Node& node, DType levels) {
  // Not where each group is a few channels, unless it is one (of int8 there is no such kernel); of volumes there are
  // none.
  constexpr int64_t kFewest = 8;
  if (node.kind != OpKind::kConv) return node.kind == OpKind::kMatMul && graph.value(node.inputs[1]).rank() == 2;
  if (node.as<ConvParams>().spatial > 2) return false;
  if (node.as<ConvParams>().group == 1) return true;
  const ir::Shape& dims = graph.value(node.inputs[1]).dims;
  if (dims[1] == ir::Dim(1) && dims[0] == ir::Dim(node.as<ConvParams>().group)) return levels == DType::kU8;
  return dims[1].constant() >= kFewest && dims[0].constant() / node.as<ConvParams>().group >= kFewest;
}

void multiply_levels(ir::Graph& graph, ir::Node& node, const LevelInput& input, LevelWeights weights) {
  for (double& scale : weights.scales) scale *= input.scale;
  const ir::Value out = graph.value(node.outputs[0]);
  const std::string name = graph.value(node.inputs[1]).name;
  std::vector<int64_t> dims(node.kind == OpKind::kConv ? weights.levels.dims.size() - 1 : 1, 1);
  dims[0] = static_cast<int64_t>(weights.scales.size());
  const ValueId levels =
      graph.add_constant(name + "/bytes", DType::kI8, weights.levels.dims, std::move(weights.levels.data)).id;
  node.inputs[0] = input.x;
  node.inputs[1] = levels;
  if (input.zero != kNone) node.inputs.insert(node.inputs.begin() + node.core_inputs++, input.zero);
  const ValueId factors = add_float_constant(graph, name + "/scales", dims, weights.scales);
  const ValueId sums = graph.add_value(out.name + "/sums", DType::kI32, out.dims).id;
  scale_behind(graph, node, sums, factors);
}

}  // namespace planwright::builder
