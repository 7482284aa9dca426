// Pointwise into the contraction before it: it runs on each tile of the result while that is in registers or L1.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "builder/passes/byte_programs.h"
#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"

namespace planwright::builder {
namespace {

using ir::PwValue;
using ir::SsaProgram;
using ir::ValueId;

// Epilogues compute in float on float tensors.
bool is_float_program(const ir::Graph& graph, const ir::Node& node) {
  const auto is_f32 = [&](ValueId id) { return graph.value(id).dtype == DType::kF32; };
  return std::all_of(node.inputs.begin(), node.inputs.end(), is_f32) && is_f32(node.outputs[0]) &&
         std::all_of(node.program.begin(), node.program.end(),
                     [](const PwInstr& instr) { return instr.type == PwClass::kFloat; });
}

// The contraction to join `pointwise` to: one whose result only it reads, over the same elements. Of two (a shortcut
// with a convolution of its own) one whose sums it reads in int32, which are no residual of the other; else the later
// one in the order, so that the other's result is there when it runs.
template <typename Joins>
ir::Node* contraction_before(ir::Graph& graph, const ir::Node& pointwise, const Joins& joins) {
  ir::Node* best = nullptr;
  const auto rank = [&](const ir::Node& node) {
    const bool has_sums = graph.value(node.outputs[0]).dtype == DType::kI32;
    return std::pair(has_sums, std::find(graph.order().begin(), graph.order().end(), node.id) - graph.order().begin());
  };
  for (ValueId id : pointwise.inputs) {
    ir::Node* node = producer_of(graph, id);
    if (node == nullptr || !takes_epilogue(node->kind) || only_user(graph, id) == nullptr ||
        !same_shape(graph.value(id).dims, graph.value(pointwise.outputs[0]).dims) || !joins(*node, graph.value(id))) {
      continue;
    }
    if (best == nullptr || rank(*best) < rank(*node)) best = node;
  }
  return best;
}

// Makes both nodes one that runs the program.
bool fuse(ir::Graph& graph, const ir::Node& contraction, ir::Node& pointwise, const SsaProgram& joined,
          const std::vector<ValueId>& operands) {
  ir::Node fused = contraction;
  if (!set_program(fused, joined, operands)) return false;
  take_names(fused, pointwise);
  // The joint node stands where the pointwise one stood: there all its operands are computed.
  fused.id = pointwise.id;
  fused.outputs = pointwise.outputs;
  graph.erase_node(contraction.id);
  pointwise = std::move(fused);
  return true;
}

bool join(ir::Graph& graph, const ir::Node& contraction, ir::Node& pointwise) {
  const ValueId result = contraction.outputs[0];
  SsaProgram joined;
  std::vector<ValueId> operands;
  const auto load = [&](ValueId id) {
    operands.push_back(id);
    return joined.load(static_cast<int>(operands.size()) - 1);
  };
  PwValue value = joined.accumulator();
  if (!contraction.program.empty()) {
    std::vector<PwValue> loads;
    for (size_t i = static_cast<size_t>(contraction.core_inputs); i < contraction.inputs.size(); ++i) {
      loads.push_back(load(contraction.inputs[i]));
    }
    value = inline_program(joined, SsaProgram(contraction.program), loads, value)[0];
  }
  std::vector<PwValue> loads;
  for (ValueId id : pointwise.inputs) loads.push_back(id == result ? value : load(id));
  joined.store(inline_program(joined, SsaProgram(pointwise.program), loads, -1)[0]);

  return fuse(graph, contraction, pointwise, joined, operands);
}
bool join_bytes(ir::Graph& graph, const ir::Node& contraction, ir::Node& pointwise) {
  const std::optional<ByteProgram> joined = joined_byte_program(graph, contraction, pointwise);
  return joined && fuse(graph, contraction, pointwise, joined->program, joined->operands);
}

}  // namespace

bool fuse_epilogues(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (ir::NodeId id : order) {
    if (!graph.has_node(id)) continue;
    ir::Node& node = graph.node(id);
    if (node.kind != OpKind::kPointwise || node.outputs.size() != 1) continue;
    const bool is_float = is_float_program(graph, node);
    const ir::Node* contraction = contraction_before(graph, node, [&](const ir::Node& before, const ir::Value& result) {
      return is_byte_contraction(graph, before) || (is_float && result.dtype == DType::kF32);
    });
    if (contraction == nullptr) continue;
    changed |= is_byte_contraction(graph, *contraction) ? join_bytes(graph, *contraction, node)
                                                        : join(graph, *contraction, node);
  }
  return changed;
}

}  // namespace planwright::builder
