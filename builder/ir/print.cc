#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <iterator>
#include <set>
#include <span>

#include "builder/ir/graph.h"
#include "tactics/kernels/custom.h"

namespace planwright::ir {
namespace {

// Constants of at most this many elements show their values.
constexpr size_t kShownElements = 8;

template <size_t kCount>
std::string joined(const int32_t (&values)[kCount], int count) {
  return fmt::format("{}", fmt::join(std::span(values).first(static_cast<size_t>(count)), ","));
}

template <size_t kCount>
const char* pick(const char* const (&names)[kCount], int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < kCount ? names[index] : "?";
}

std::string axes_of(uint32_t mask) {
  std::vector<int> axes;
  for (int i = 0; i < kMaxRank; ++i) {
    if (mask >> i & 1) axes.push_back(i);
  }
  return fmt::format("{}", fmt::join(axes, ","));
}

std::string window(int group, const int32_t (&stride)[kMaxSpatial], const int32_t (&dilation)[kMaxSpatial],
                   int spatial) {
  std::string text = fmt::format("group={} stride={}", group, joined(stride, spatial));
  for (int i = 0; i < spatial; ++i) {
    if (dilation[i] != 1) return text + " dilation=" + joined(dilation, spatial);
  }
  return text;
}

// One overload an operator's attributes; `rank` is that of its first input.
struct Attributes {
  int rank;

  std::string operator()(const NoParams&) const { return ""; }
  std::string operator()(const ConvParams& p) const { return window(p.group, p.stride, p.dilation, p.spatial); }
  std::string operator()(const ConvTransposeParams& p) const {
    return window(p.group, p.stride, p.dilation, p.spatial);
  }
  std::string operator()(const PoolParams& p) const {
    std::string text = fmt::format("{} kernel={} stride={}", pick({"max", "average", "lp"}, static_cast<int>(p.kind)),
                                   joined(p.kernel, p.spatial), joined(p.stride, p.spatial));
    for (int i = 0; i < p.spatial; ++i) {
      if (p.dilation[i] == 1) continue;
      text += " dilation=" + joined(p.dilation, p.spatial);
      break;
    }
    if (p.count_include_pad != 0) text += " count_include_pad";
    if (p.column_major_indices != 0) text += " column_major_indices";
    return p.kind == PoolKind::kLp ? text + fmt::format(" p={}", p.p) : text;
  }
  std::string operator()(const ResizeParams& p) const {
    std::string text = fmt::format("{} {}", pick({"nearest", "linear", "cubic"}, static_cast<int>(p.mode)),
                                   pick({"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
                                         "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                                        static_cast<int>(p.coordinates)));
    if (p.mode == ResizeMode::kNearest) {
      text += fmt::format(
          " {}", pick({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, static_cast<int>(p.rounding)));
    }
    if (p.mode == ResizeMode::kCubic) text += fmt::format(" a={}", p.cubic_a);
    if (p.exclude_outside != 0) text += " exclude_outside";
    if (p.antialias != 0) text += " antialias";
    return text + fmt::format(" scale={}", fmt::join(std::span(p.scale).first(static_cast<size_t>(rank)), ","));
  }
  std::string operator()(const ReduceParams& p) const {
    return fmt::format("{} axes={}",
                       pick({"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"},
                            static_cast<int>(p.kind)),
                       axes_of(p.axes));
  }
  std::string operator()(const ArgReduceParams& p) const {
    return fmt::format("{} axis={}{}", p.is_max != 0 ? "max" : "min", p.axis, p.select_last != 0 ? " last" : "");
  }
  std::string operator()(const SoftmaxParams& p) const {
    return fmt::format("axis={}{}", p.axis, pick({"", " log", " hard"}, p.log));
  }
  std::string operator()(const LayerNormParams& p) const {
    return fmt::format("axis={} epsilon={}{}", p.axis, p.epsilon, p.rms != 0 ? " rms" : "");
  }
  std::string operator()(const GroupNormParams& p) const {
    return fmt::format("groups={} epsilon={}", p.groups, p.epsilon);
  }
  std::string operator()(const BlockMatMulParams& p) const { return fmt::format("block={}", p.block); }
  std::string operator()(const LrnParams& p) const {
    return fmt::format("size={} alpha={} beta={} bias={}", p.size, p.alpha, p.beta, p.bias);
  }
  std::string operator()(const CumulativeParams& p) const {
    return fmt::format("{} axis={}{}{}", pick({"sum", "product"}, static_cast<int>(p.kind)), p.axis,
                       p.exclusive != 0 ? " exclusive" : "", p.reverse != 0 ? " reverse" : "");
  }
  std::string operator()(const AttentionParams& p) const {
    return fmt::format("scale={}{}{}{}", p.scale, p.causal != 0 ? " causal" : "",
                       p.softcap != 0 ? fmt::format(" softcap={}", p.softcap) : "", p.zero_nan != 0 ? " zero_nan" : "");
  }
  std::string operator()(const GatherParams& p) const { return fmt::format("axis={}", p.axis); }
  std::string operator()(const GatherElementsParams& p) const { return fmt::format("axis={}", p.axis); }
  std::string operator()(const GatherNDParams& p) const { return fmt::format("batch_dims={}", p.batch_dims); }
  std::string operator()(const ScatterElementsParams& p) const {
    return fmt::format("axis={}{}", p.axis, reduction(p.reduction));
  }
  std::string operator()(const ScatterNDParams& p) const { return reduction(p.reduction); }
  std::string operator()(const TopKParams& p) const {
    return fmt::format("axis={} {}{}", p.axis, p.largest != 0 ? "largest" : "smallest", p.sorted != 0 ? " sorted" : "");
  }
  std::string operator()(const OneHotParams& p) const { return fmt::format("axis={}", p.axis); }
  std::string operator()(const TriluParams& p) const { return p.upper != 0 ? "upper" : "lower"; }
  std::string operator()(const TransposeParams& p) const { return "perm=" + joined(p.perm, rank); }
  std::string operator()(const SliceParams&) const { return ""; }
  std::string operator()(const ConcatParams& p) const { return fmt::format("axis={}", p.axis); }
  std::string operator()(const PadParams& p) const {
    return pick({"constant", "reflect", "edge", "wrap"}, static_cast<int>(p.mode));
  }
  std::string operator()(const ReverseSequenceParams& p) const {
    return fmt::format("batch={} time={}", p.batch_axis, p.time_axis);
  }
  std::string operator()(const FillParams& p) const { return fmt::format("bits={:#x}", p.value_bits); }
  std::string operator()(const RnnParams& p) const {
    return fmt::format("{} hidden={}{}{}", pick({"rnn", "gru", "lstm"}, static_cast<int>(p.kind)), p.hidden,
                       p.directions == 2 ? " bidirectional" : "", p.reverse != 0 ? " reverse" : "");
  }

  std::string operator()(const ShapeValuesParams&) const { return ""; }
  std::string operator()(const TreeEnsembleParams& p) const {
    return fmt::format("{} targets={}", pick({"sum", "average", "min", "max"}, static_cast<int>(p.aggregate)),
                       p.targets);
  }
  std::string operator()(const GridSampleParams& p) const {
    return fmt::format("{} {}{}", pick({"nearest", "linear", "cubic"}, static_cast<int>(p.mode)),
                       pick({"zeros", "border", "reflection"}, static_cast<int>(p.padding)),
                       p.align_corners != 0 ? " align_corners" : "");
  }
  std::string operator()(const RoiAlignParams& p) const {
    return fmt::format("{} {}x{} samples={} scale={}{}", pick({"average", "max"}, static_cast<int>(p.mode)), p.height,
                       p.width, p.sampling_ratio, p.spatial_scale, p.half_pixel != 0 ? " half_pixel" : "");
  }
  std::string operator()(const DeformConvParams& p) const {
    return fmt::format("group={} offset_group={} stride={},{} dilation={},{}", p.group, p.offset_group, p.stride[0],
                       p.stride[1], p.dilation[0], p.dilation[1]);
  }
  std::string operator()(const RandomParams& p) const {
    return fmt::format("{} seed={} shift={} scale={}", pick({"uniform", "normal"}, static_cast<int>(p.kind)), p.seed,
                       p.shift, p.scale);
  }
  std::string operator()(const CustomParams& p) const {
    if (p.op == nullptr) return "";
    return fmt::format("{} version={} parameters={}", p.op->title, p.op->functions.version, p.parameters.size());
  }
  std::string operator()(const LoopParams& p) const {
    return fmt::format("carried={}{}", p.carried, p.has_condition != 0 ? " while" : "");
  }
  std::string operator()(const UniqueParams& p) const {
    return fmt::format("axis={}{}", p.axis, p.sorted != 0 ? " sorted" : "");
  }
  std::string operator()(const NonMaxSuppressionParams& p) const {
    return p.center_point_box != 0 ? "center" : "corners";
  }

  static std::string reduction(ScatterReduction kind) {
    return pick({"", " add", " mul", " max", " min"}, static_cast<int>(kind));
  }
};

template <typename T>
void append_elements(const Bytes& data, std::string* text) {
  for (size_t at = 0; at < data.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, data.data() + at, sizeof(T));
    fmt::format_to(std::back_inserter(*text), "{}{}", at == 0 ? "" : ", ", element);
  }
}

std::string elements_of(const Value& value) {
  std::string text;
  switch (value.dtype) {
    case DType::kF32: append_elements<float>(*value.constant, &text); break;
    case DType::kF64: append_elements<double>(*value.constant, &text); break;
    case DType::kI8: append_elements<int8_t>(*value.constant, &text); break;
    case DType::kI16: append_elements<int16_t>(*value.constant, &text); break;
    case DType::kI32: append_elements<int32_t>(*value.constant, &text); break;
    case DType::kI64: append_elements<int64_t>(*value.constant, &text); break;
    case DType::kU16: append_elements<uint16_t>(*value.constant, &text); break;
    case DType::kU32: append_elements<uint32_t>(*value.constant, &text); break;
    case DType::kU64: append_elements<uint64_t>(*value.constant, &text); break;
    case DType::kF16:
    case DType::kBF16: {  // as bits
      append_elements<uint16_t>(*value.constant, &text);
      break;
    }
    case DType::kI4:
    case DType::kI2: append_elements<int8_t>(*value.constant, &text); break;
    default: append_elements<uint8_t>(*value.constant, &text); break;  // minifloats as bits
  }
  return text;
}

std::string reference(const Graph& graph, ValueId id) { return id == kNone ? "_" : "%" + graph.value(id).name; }

std::string type_of(const Value& value) {
  std::string text = fmt::format("{}{}", planwright::name_of(value.dtype), to_string(value.dims));
  if (!value.layout.order.empty()) text += fmt::format(" order={}", fmt::join(value.layout.order, ","));
  if (value.layout.block > 1) text += fmt::format(" block={}x{}", value.layout.block_axis, value.layout.block);
  return text;
}

std::string declaration(const Graph& graph, ValueId id) {
  if (id == kNone) return "_";
  const Value& value = graph.value(id);
  std::string text = fmt::format("%{}: {}", value.name, type_of(value));
  if (value.view) {
    text += fmt::format(" in {}", reference(graph, value.view->base));
    if (!(value.view->offset == Dim(0))) text += " at " + to_string(value.view->offset);
    text += " strides=" + to_string(value.view->strides);
  }
  return text;
}

std::string node_line(const Graph& graph, const Node& node) {
  std::string text = "  ";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + declaration(graph, node.outputs[i]);
  }
  text += fmt::format(" = {}(", name_of(node.kind));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool first_operand = i > 0 && i == static_cast<size_t>(node.core_inputs);
    text += (i == 0 ? "" : first_operand ? "; " : ", ") + reference(graph, node.inputs[i]);
  }
  text += ")";
  const int rank = node.inputs.empty() || node.inputs[0] == kNone ? 0 : graph.value(node.inputs[0]).rank();
  std::string attributes = std::visit(Attributes{rank}, node.params);
  if (!node.scalars.empty()) attributes += (attributes.empty() ? "" : " ") + to_string(node.scalars);
  if (!attributes.empty()) text += " {" + attributes + "}";
  if (!node.program.empty()) text += " [" + print_program(node.program) + "]";
  if (!node.onnx.empty()) text += "  ";
  for (size_t i = 0; i < node.onnx.size(); ++i) text += fmt::format("{}\"{}\"", i > 0 ? "+" : "", node.onnx[i]);
  return text + "\n";
}

std::string constant_line(const Value& value) {
  std::string text = fmt::format("  const %{}: {}", value.name, type_of(value));
  if (value.constant->size() / size_of(value.dtype) <= kShownElements) text += " = {" + elements_of(value) + "}";
  return text + "\n";
}

// Constants that a node or an output reads, in order of first use.
std::vector<ValueId> used_constants(const Graph& graph) {
  std::vector<ValueId> constants;
  std::set<ValueId> seen;
  const auto visit = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id != kNone && graph.value(id).is_constant() && seen.insert(id).second) constants.push_back(id);
    }
  };
  for (NodeId id : graph.order()) visit(graph.node(id).inputs);
  visit(graph.outputs);
  return constants;
}

std::string indented(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    result += "  " + text.substr(at, end - at);
    at = end;
  }
  return result;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text = "graph \"" + graph.name + "\"\n";
  for (ValueId id : graph.inputs) text += "  input " + declaration(graph, id) + "\n";
  for (ValueId id : used_constants(graph)) text += constant_line(graph.value(id));
  for (NodeId id : graph.order()) {
    text += node_line(graph, graph.node(id));
    for (const auto& body : graph.node(id).bodies) text += indented("  " + print(*body));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& binding = i < graph.output_names.size() ? graph.output_names[i] : "";
    text += fmt::format("  output {} as \"{}\"\n", reference(graph, graph.outputs[i]), binding);
  }
  for (const Guard& guard : graph.guards) {
    text += fmt::format("  guard {} {} {}  \"{}\": {}\n", to_string(guard.left),
                        guard.equal ? "==" : "<=", to_string(guard.right), guard.layer, guard.reason);
  }
  return text;
}

}  // namespace planwright::ir
