#include "builder/passes/operand_rules.h"

#include "builder/passes/rewrite.h"
#include "builder/passes/strides.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Layout;
using ir::Node;
using ir::Shape;

constexpr size_t kRuleInputs = 3;

struct Rule {
  OpKind kind;
  Access inputs[kRuleInputs];  // later operands as the last
  Access output;
  ResultOrder order;
};

// What is not listed takes any strides and writes row-major.
constexpr Rule kRules[] = {
    {OpKind::kMatMul, {Access::kLastAxis, Access::kMatrix, Access::kAny}, Access::kLastAxis, ResultOrder::kRowMajor},
    {OpKind::kBlockMatMul, {Access::kLastAxis, Access::kAny, Access::kAny}, Access::kLastAxis, ResultOrder::kRowMajor},
    // W is packed where it is a constant, and otherwise small.
    {OpKind::kConv, {Access::kChannelsLast, Access::kAny, Access::kAny}, Access::kChannelsLast, ResultOrder::kAsAccess},
    {OpKind::kConvTranspose,
     {Access::kChannelsLast, Access::kAny, Access::kAny},
     Access::kChannelsLast,
     ResultOrder::kAsAccess},
    {OpKind::kAttention,
     {Access::kLastAxis, Access::kLastAxis, Access::kLastAxis},
     Access::kLastAxis,
     ResultOrder::kRowMajor},
    {OpKind::kPool, {Access::kChannelsLast}, Access::kChannelsLast, ResultOrder::kAsAccess},
    {OpKind::kResize, {Access::kChannelsLast}, Access::kChannelsLast, ResultOrder::kAsAccess},
    {OpKind::kGroupNorm, {Access::kChannelsLast}, Access::kChannelsLast, ResultOrder::kAsAccess},
    {OpKind::kLrn, {Access::kChannelsLast}, Access::kChannelsLast, ResultOrder::kAsAccess},
    {OpKind::kSoftmax, {Access::kParamAxis}, Access::kParamAxis, ResultOrder::kAsInput},
    {OpKind::kLayerNorm,
     {Access::kTrailing, Access::kRowMajor, Access::kRowMajor},
     Access::kTrailing,
     ResultOrder::kAsInput},
    {OpKind::kReduce, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kArgReduce, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kCumulative, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kPad, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kTile, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kBitCast, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kTrilu, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kReverseSequence, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kScatterElements, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kTopK, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kSlice, {Access::kAny}, Access::kAny, ResultOrder::kAsInput},
    {OpKind::kGather, {Access::kLastAxis, Access::kRowMajor, Access::kAny}, Access::kLastAxis, ResultOrder::kRowMajor},
    {OpKind::kTreeEnsemble, {Access::kLastAxis, Access::kAny, Access::kAny}, Access::kAny, ResultOrder::kRowMajor},
    {OpKind::kRnn, {Access::kLastAxis, Access::kAny, Access::kAny}, Access::kLastAxis, ResultOrder::kRowMajor},
    {OpKind::kCustom,
     {Access::kRowMajor, Access::kRowMajor, Access::kRowMajor},
     Access::kRowMajor,
     ResultOrder::kRowMajor},
    // Bodies know their inputs and outputs as dense, the way a graph knows its bindings.
    {OpKind::kIf, {Access::kRowMajor, Access::kRowMajor, Access::kRowMajor}, Access::kRowMajor, ResultOrder::kRowMajor},
    {OpKind::kLoop,
     {Access::kRowMajor, Access::kRowMajor, Access::kRowMajor},
     Access::kRowMajor,
     ResultOrder::kRowMajor},
};

// A first layer of few channels reads whole windows, whatever their order, rather than vectors of channels.
constexpr int64_t kFirstLayerChannels = 4;

const Rule* rule_of(OpKind kind) {
  for (const Rule& rule : kRules) {
    if (rule.kind == kind) return &rule;
  }
  return nullptr;
}

bool is_first_layer(const ir::Graph& graph, const Node& node) {
  if (node.kind != OpKind::kConv || node.as<ConvParams>().group != 1) return false;
  const Dim channels = graph.value(node.inputs[0]).dims[1];
  // Of bytes kernels of several taps on images.
  if (is_byte_contraction(graph, node)) {
    const ir::Shape& w = graph.value(node.inputs[1]).dims;
    if (w.size() > 4 || ir::product(Shape(w.begin() + 2, w.end())) == Dim(1)) return false;
  }
  return channels.is_constant() && channels.constant() <= kFirstLayerChannels;
}

int param_axis(const Node& node) {
  if (node.kind == OpKind::kSoftmax) return node.as<SoftmaxParams>().axis;
  return node.as<LayerNormParams>().axis;
}

bool is_contiguous(const Shape& dims, const Shape& strides, size_t axis) {
  return axis >= dims.size() || dims[axis] == Dim(1) || strides[axis] == Dim(1);
}

bool is_trailing_dense(const Shape& dims, const Shape& strides, int axis) {
  return is_row_major(Shape(dims.begin() + axis, dims.end()), Shape(strides.begin() + axis, strides.end()));
}

}  // namespace

Access input_access(const ir::Graph& graph, const Node& node, size_t input) {
  const Rule* rule = rule_of(node.kind);
  if (rule == nullptr || input >= static_cast<size_t>(node.core_inputs)) return Access::kAny;
  if (input == 0 && is_first_layer(graph, node)) return Access::kAny;
  return rule->inputs[input < kRuleInputs ? input : kRuleInputs - 1];
}

Access output_access(const ir::Graph&, const Node& node) {
  const Rule* rule = rule_of(node.kind);
  return rule == nullptr ? Access::kAny : rule->output;
}

bool allows(Access access, const Node& node, const Shape& dims, const Shape& strides) {
  const size_t rank = dims.size();
  switch (access) {
    case Access::kAny: return true;
    case Access::kLastAxis: return rank == 0 || is_contiguous(dims, strides, rank - 1);
    case Access::kMatrix:
      return rank < 2 || is_contiguous(dims, strides, rank - 1) || is_contiguous(dims, strides, rank - 2);
    case Access::kParamAxis: return is_contiguous(dims, strides, static_cast<size_t>(param_axis(node)));
    case Access::kTrailing: return is_trailing_dense(dims, strides, param_axis(node));
    case Access::kChannelsLast: return is_contiguous(dims, strides, 1);
    case Access::kRowMajor: return is_row_major(dims, strides);
  }
  return false;
}

Layout layout_for(Access access, const Node& node, int rank) {
  if (access == Access::kChannelsLast && rank > 2) return channels_last(rank);
  if (access != Access::kParamAxis) return {};
  std::vector<uint8_t> order;
  const int contiguous = param_axis(node);
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != contiguous) order.push_back(static_cast<uint8_t>(axis));
  }
  order.push_back(static_cast<uint8_t>(contiguous));
  return layout_of_order(std::move(order));
}

bool is_movement(const Node& node) {
  if (node.kind == OpKind::kSlice) {
    const size_t rank = node.scalars.size() / 2;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (range_of(node.scalars[rank + axis]).min < 1) return false;
    }
    return true;
  }
  return node.kind == OpKind::kReshape || node.kind == OpKind::kTranspose || node.kind == OpKind::kExpand;
}

ResultOrder result_order(OpKind kind) {
  const Rule* rule = rule_of(kind);
  return rule == nullptr ? ResultOrder::kRowMajor : rule->order;
}

}  // namespace planwright::builder
