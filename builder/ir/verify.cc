// The graph verifier: two tables of rules, one for the graph as a whole and one for each node.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "builder/ir/control.h"
#include "builder/ir/graph.h"
#include "builder/ir/infer.h"
#include "builder/ir/results.h"
#include "schemas/types/error.h"
#include "tactics/kernels/custom.h"

namespace planwright::ir {
namespace {

// Whether two dims are equal for every shape that the graph's guards let through.
class GuardedEquality {
 public:
  explicit GuardedEquality(const std::vector<Guard>& guards) {
    for (const Guard& guard : guards) {
      if (!guard.equal) continue;
      pairs_.emplace_back(guard.left, guard.right);
      pairs_.emplace_back(guard.right, guard.left);
    }
  }

  bool operator()(Dim a, Dim b) const {
    // Everything that the guards make equal to `a`, step by step.
    std::vector<Dim> reached{a};
    for (size_t i = 0; i < reached.size(); ++i) {
      if (proven_equal(reached[i], b) || follows_from_one_guard(reached[i], b)) return true;
      for (const auto& [left, right] : pairs_) {
        if (left == reached[i] && std::find(reached.begin(), reached.end(), right) == reached.end()) {
          reached.push_back(right);
        }
      }
    }
    return false;
  }

 private:
  // x*n == 32*floor(x/32)*n follows from x == 32*floor(x/32): the difference is a multiple of the guard's.
  bool follows_from_one_guard(Dim a, Dim b) const {
    if (pairs_.empty()) return false;
    const Dim difference = a - b;
    return std::any_of(pairs_.begin(), pairs_.end(),
                       [&](const auto& pair) { return is_multiple(difference, pair.first - pair.second); });
  }

  std::vector<std::pair<Dim, Dim>> pairs_;
};

struct Context {
  const Graph& graph;
  GuardedEquality equal;
  std::vector<char> defined;  // of each value: by now
};

// A rule returns what is wrong, or nothing.
using Complaint = std::string;

bool value_in_range(const Graph& graph, ValueId id) { return id >= 0 && id < graph.value_count(); }

std::string text_of(const Graph& graph, ValueId id) {
  return fmt::format("%{} of shape {}", graph.value(id).name, to_string(graph.value(id).dims));
}

// ---- Rules of a node. Each may rely on those before it.

Complaint operands_in_range(const Context& context, const Node& node) {
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    for (ValueId id : *ids) {
      if (id != kNone && !value_in_range(context.graph, id)) return fmt::format("value {} does not exist", id);
    }
  }
  return "";
}

Complaint arity_matches(const Context&, const Node& node) {
  if (!is_valid(node.kind)) return "its operator does not exist";
  const Arity arity = arity_of(node.kind);
  const int inputs = node.core_inputs, outputs = static_cast<int>(node.outputs.size());
  if (inputs < 0 || static_cast<size_t>(inputs) > node.inputs.size()) {
    return fmt::format("{} of its {} inputs are the operator's own", inputs, node.inputs.size());
  }
  const bool own_only = node.kind != OpKind::kPointwise;
  if (own_only && (inputs < arity.min_inputs || (arity.max_inputs >= 0 && inputs > arity.max_inputs))) {
    return fmt::format("{} inputs", inputs);
  }
  if (!own_only && inputs != 0) return "a pointwise operator has inputs besides its program's";
  if (outputs < arity.min_outputs || (arity.max_outputs >= 0 && outputs > arity.max_outputs))
    return fmt::format("{} outputs", outputs);
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const bool optional = is_control(node.kind) ? node.kind == OpKind::kLoop && i == 0
                                                : i < inputs && i >= arity.min_inputs && node.kind != OpKind::kConcat;
    if (node.inputs[static_cast<size_t>(i)] == kNone && !optional) return fmt::format("input {} is missing", i);
  }
  if (node.outputs[0] == kNone) return "its first output is missing";
  return "";
}

Complaint params_match(const Context& context, const Node& node) {
  if (node.params.index() != default_params(node.kind).index()) return "its params are another operator's";
  const Bytes bytes = to_bytes(node.params);
  const int rank = node.inputs.empty() || node.inputs[0] == kNone ? 0 : context.graph.value(node.inputs[0]).rank();
  const int scalars = scalar_count_of(node.kind, bytes.data(), rank);
  if (static_cast<int>(node.scalars.size()) != scalars) {
    return fmt::format("{} scalars where it takes {}", node.scalars.size(), scalars);
  }
  return "";
}

Complaint program_is_valid(const Context&, const Node& node) {
  const bool pointwise = node.kind == OpKind::kPointwise;
  const int operands = static_cast<int>(node.inputs.size()) - node.core_inputs;
  if (node.program.empty()) {
    if (pointwise) return "a pointwise operator without a program";
    return operands == 0 ? "" : "operands for a program it does not have";
  }
  if (!pointwise && !takes_epilogue(node.kind)) return "an operator that takes no program has one";
  if (!is_valid_program(node.program.data(), static_cast<int>(node.program.size()), operands,
                        static_cast<int>(node.outputs.size()), !pointwise)) {
    return "an invalid program: " + print_program(node.program);
  }
  return "";
}

Complaint program_classes_match(const Context& context, const Node& node) {
  for (const PwInstr& instr : node.program) {
    if (instr.op != PwOp::kLoad && instr.op != PwOp::kStore) continue;
    const bool load = instr.op == PwOp::kLoad;
    const ValueId id =
        load ? node.inputs[static_cast<size_t>(node.core_inputs) + instr.operand] : node.outputs[instr.operand];
    if (id != kNone && class_of(context.graph.value(id).dtype) != instr.type) {
      return fmt::format("its program {} %{} in another class than its type's", load ? "loads" : "stores",
                         context.graph.value(id).name);
    }
  }
  return "";
}

Complaint inputs_defined(const Context& context, const Node& node) {
  for (ValueId id : node.inputs) {
    if (id != kNone && context.defined[static_cast<size_t>(id)] == 0) {
      return fmt::format("%{} is read before it is computed", context.graph.value(id).name);
    }
  }
  return "";
}

Complaint results_defined(const Context& context, const Node& node) {
  for (ValueId id : results_read_by(context.graph, node)) {
    if (!value_in_range(context.graph, id) || !context.defined[static_cast<size_t>(id)]) {
      return fmt::format("its shapes depend on value {}, which is not computed before it", id);
    }
  }
  return "";
}

Complaint outputs_are_new(const Context& context, const Node& node) {
  std::set<ValueId> seen;
  for (ValueId id : node.outputs) {
    if (id == kNone) continue;
    const Value& value = context.graph.value(id);
    if (context.defined[static_cast<size_t>(id)] != 0 || !seen.insert(id).second) {
      return fmt::format("%{} is computed twice", value.name);
    }
    if (value.producer != node.id) return fmt::format("%{} names another producer", value.name);
    if (value.is_constant()) return fmt::format("%{} is a constant", value.name);
  }
  return "";
}

Complaint types_match(const Context& context, const Node& node) {
  const std::vector<std::optional<DType>> types = infer_types(context.graph, node);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone || !types[i]) continue;
    const Value& value = context.graph.value(node.outputs[i]);
    if (value.dtype != *types[i]) {
      return fmt::format("%{} is {}, it must be {}", value.name, planwright::name_of(value.dtype),
                         planwright::name_of(*types[i]));
    }
  }
  return "";
}

Complaint dims_match(const Context& context, const Node& node) {
  std::vector<Guard> needed;
  std::vector<std::optional<Shape>> shapes;
  try {
    shapes = infer_dims(context.graph, node, &needed);
  } catch (const Error& error) {
    return error.what();
  }
  for (const Guard& guard : needed) {
    if (!context.equal(guard.left, guard.right)) {
      return fmt::format("no guard for {} == {} ({})", to_string(guard.left), to_string(guard.right), guard.reason);
    }
  }
  // A program may be run over more than its operands' own shape (broadcast_to_output).
  if (node.kind == OpKind::kPointwise) return "";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone || !shapes[i]) continue;
    const Shape& dims = context.graph.value(node.outputs[i]).dims;
    if (!std::equal(dims.begin(), dims.end(), shapes[i]->begin(), shapes[i]->end(), std::ref(context.equal))) {
      return fmt::format("{} must have shape {}", text_of(context.graph, node.outputs[i]), to_string(*shapes[i]));
    }
  }
  return "";
}

Complaint operands_broadcast(const Context& context, const Node& node) {
  if (node.program.empty()) return "";
  const Shape& out = context.graph.value(node.outputs[0]).dims;
  for (size_t i = static_cast<size_t>(node.core_inputs); i < node.inputs.size(); ++i) {
    if (!may_broadcast(context.graph.value(node.inputs[i]).dims, out)) {
      return fmt::format("{} does not broadcast to {}", text_of(context.graph, node.inputs[i]), to_string(out));
    }
  }
  for (ValueId id : node.outputs) {
    const Shape& dims = context.graph.value(id).dims;
    if (!std::equal(dims.begin(), dims.end(), out.begin(), out.end(), std::ref(context.equal))) {
      return "its outputs differ in shape";
    }
  }
  return "";
}

Complaint windows_match(const Context& context, const Node& node) {
  const auto same = [&](size_t axis, Dim dim) {
    return context.equal(context.graph.value(node.outputs[0]).dims[axis], dim);
  };
  const Shape& in = context.graph.value(node.inputs[0]).dims;
  const Shape& out = context.graph.value(node.outputs[0]).dims;
  if (out.size() != in.size() || !same(0, in[0]))
    return text_of(context.graph, node.outputs[0]) + " does not fit its input";
  Dim channels = in[1];
  if (node.kind == OpKind::kConv) channels = context.graph.value(node.inputs[1]).dims[0];
  if (node.kind == OpKind::kConvTranspose) {
    channels = context.graph.value(node.inputs[1]).dims[1] * node.as<ConvTransposeParams>().group;
  }
  return same(1, channels)
             ? ""
             : fmt::format("{} must have {} channels", text_of(context.graph, node.outputs[0]), to_string(channels));
}

Complaint zero_point_matches(const Context& context, const Node& node) {
  if (node.core_inputs < 3 || node.inputs[2] == kNone) return "";
  const Value &x = context.graph.value(node.inputs[0]), &zero = context.graph.value(node.inputs[2]);
  const bool is_byte = x.dtype == DType::kI8 || x.dtype == DType::kU8;
  return is_byte && zero.dtype == x.dtype && context.equal(product(zero.dims), Dim(1))
             ? ""
             : fmt::format("{} is no zero point of %{}", text_of(context.graph, zero.id), x.name);
}

Complaint reshape_keeps_elements(const Context& context, const Node& node) {
  const Dim in = product(context.graph.value(node.inputs[0]).dims);
  const Dim out = product(context.graph.value(node.outputs[0]).dims);
  return context.equal(in, out) ? "" : fmt::format("{} elements become {}", to_string(in), to_string(out));
}

Complaint expand_broadcasts(const Context& context, const Node& node) {
  const Shape &in = context.graph.value(node.inputs[0]).dims, &out = context.graph.value(node.outputs[0]).dims;
  return may_broadcast(in, out) ? "" : fmt::format("{} does not broadcast to {}", to_string(in), to_string(out));
}

Complaint rank_stays(const Context& context, const Node& node) {
  const int in = context.graph.value(node.inputs[0]).rank(), out = context.graph.value(node.outputs[0]).rank();
  return in == out ? "" : fmt::format("rank {} becomes {}", in, out);
}

Complaint pad_adds_up(const Context& context, const Node& node) {
  if (Complaint wrong = rank_stays(context, node); !wrong.empty()) return wrong;
  const Shape &in = context.graph.value(node.inputs[0]).dims, &out = context.graph.value(node.outputs[0]).dims;
  for (size_t i = 0; i < in.size(); ++i) {
    const Dim sum = in[i] + node.scalars[i] + node.scalars[in.size() + i];
    if (!context.equal(out[i], sum)) {
      return fmt::format("axis {} must have length {}, not {}", i, to_string(sum), to_string(out[i]));
    }
  }
  return "";
}

Complaint values_are_counted(const Context& context, const Node& node) {
  const Shape& dims = context.graph.value(node.outputs[0]).dims;
  const bool fits = dims.size() <= 1 && context.equal(product(dims), node.scalars.size());
  return fits ? "" : fmt::format("{} values make shape {}", node.scalars.size(), to_string(dims));
}

Complaint widths_match(const Context& context, const Node& node) {
  const DType in = context.graph.value(node.inputs[0]).dtype, out = context.graph.value(node.outputs[0]).dtype;
  return bit_width(in) == bit_width(out)
             ? ""
             : fmt::format("bits of {} are not those of {}", planwright::name_of(in), planwright::name_of(out));
}

Complaint bodies_match(const Context& context, const Node& node) { return verify_control(context.graph, node); }

Complaint plugin_takes(const Context&, const Node& node) {
  const CustomParams& params = node.as<CustomParams>();
  if (params.op == nullptr) return "no plugin";
  const pw_operator& op = params.op->functions;
  const int inputs = static_cast<int>(node.inputs.size()), outputs = static_cast<int>(node.outputs.size());
  if (inputs < op.min_inputs || inputs > op.max_inputs || outputs < op.min_outputs || outputs > op.max_outputs) {
    return fmt::format("{} inputs and {} outputs", inputs, outputs);
  }
  for (int i = 0; i < op.min_inputs; ++i) {
    if (node.inputs[static_cast<size_t>(i)] == kNone) return fmt::format("input {} is missing", i);
  }
  for (int i = 0; i < op.min_outputs; ++i) {
    if (node.outputs[static_cast<size_t>(i)] == kNone) return fmt::format("output {} is missing", i);
  }
  return params.parameters.size() == op.parameter_bytes ? "" : fmt::format("{} parameters", params.parameters.size());
}

struct NodeRule {
  const char* name;
  std::vector<OpKind> kinds;  // empty: all
  Complaint (*check)(const Context&, const Node&);
};

const std::vector<NodeRule>& node_rules() {
  static const std::vector<NodeRule> rules = {
      {"values exist", {}, operands_in_range},
      {"arity", {}, arity_matches},
      {"params", {}, params_match},
      {"defined before use", {}, inputs_defined},
      {"shapes known before use", {}, results_defined},
      {"one producer", {}, outputs_are_new},
      {"program", {}, program_is_valid},
      {"classes", {}, program_classes_match},
      {"types", {}, types_match},
      {"shapes", {}, dims_match},
      {"broadcast to output", {}, operands_broadcast},
      {"zero point", {OpKind::kMatMul, OpKind::kConv}, zero_point_matches},
      {"window shape", {OpKind::kConv, OpKind::kConvTranspose, OpKind::kPool}, windows_match},
      {"element count", {OpKind::kReshape}, reshape_keeps_elements},
      {"expand", {OpKind::kExpand}, expand_broadcasts},
      {"rank", {OpKind::kSlice, OpKind::kTile, OpKind::kResize, OpKind::kTopK}, rank_stays},
      {"pad", {OpKind::kPad}, pad_adds_up},
      {"value count", {OpKind::kShapeValues}, values_are_counted},
      {"width", {OpKind::kBitCast}, widths_match},
      {"bodies", {OpKind::kIf, OpKind::kLoop}, bodies_match},
      {"plugin", {OpKind::kCustom}, plugin_takes},
  };
  return rules;
}

// ---- Rules of a value and of the graph.

Complaint value_is_sound(const Graph& graph, const Value& value) {
  if (value.rank() > kMaxRank) return fmt::format("rank {} is over {}", value.rank(), kMaxRank);
  for (Dim dim : value.dims) {
    if (range_of(dim).max < 0) return "a negative dim in " + to_string(value.dims);
  }
  const Dim count = product(value.dims);
  if (value.constant) {
    if (!count.is_constant()) return "a constant of unknown size";
    if (value.constant->size() != static_cast<size_t>(count.constant()) * size_of(value.dtype)) {
      return fmt::format("{} bytes for {} elements", value.constant->size(), count.constant());
    }
  }
  if (value.elements && !(count == Dim(value.elements->size()))) {
    return fmt::format("{} known elements of {}", value.elements->size(), to_string(count));
  }
  std::vector<uint8_t> order = value.layout.order;
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order.size() != value.dims.size() || order[i] != i) return "its layout is no permutation of its axes";
  }
  if (value.view) {
    if (!value_in_range(graph, value.view->base) || value.view->base == value.id) return "its view has no base";
    if (graph.value(value.view->base).view) return "the base of its view is a view itself";
    if (value.view->strides.size() != value.dims.size()) return "its view has not one stride an axis";
  }
  return "";
}

Complaint values_are_sound(const Graph& graph) {
  std::set<std::string> names;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (Complaint wrong = value_is_sound(graph, value); !wrong.empty())
      return fmt::format("%{}: {}", value.name, wrong);
    if (!names.insert(value.name).second) return fmt::format("two values are called %{}", value.name);
  }
  return "";
}

Complaint bindings_exist(const Graph& graph) {
  std::set<ValueId> seen;
  for (ValueId id : graph.inputs) {
    if (!value_in_range(graph, id)) return fmt::format("graph input {} does not exist", id);
    const Value& value = graph.value(id);
    if (value.is_constant() || value.producer != kNone) return fmt::format("graph input %{} is computed", value.name);
    if (!seen.insert(id).second) return fmt::format("%{} is an input twice", value.name);
  }
  for (ValueId id : graph.outputs) {
    if (!value_in_range(graph, id)) return fmt::format("graph output {} does not exist", id);
  }
  if (graph.output_names.size() != graph.outputs.size()) return "not one name an output";
  return "";
}

Complaint order_is_sound(const Graph& graph) {
  std::set<NodeId> seen;
  for (NodeId id : graph.order()) {
    if (!graph.has_node(id)) return fmt::format("node {} in the order does not exist", id);
    if (!seen.insert(id).second) return fmt::format("node {} is in the order twice", id);
  }
  return "";
}

struct GraphRule {
  const char* name;
  Complaint (*check)(const Graph&);
};

constexpr GraphRule kGraphRules[] = {
    {"bindings", bindings_exist},
    {"values", values_are_sound},
    {"order", order_is_sound},
};

std::string check_node(const Context& context, const Node& node) {
  for (const NodeRule& rule : node_rules()) {
    if (!rule.kinds.empty() && std::find(rule.kinds.begin(), rule.kinds.end(), node.kind) == rule.kinds.end()) continue;
    if (const Complaint wrong = rule.check(context, node); !wrong.empty()) {
      return fmt::format("node {} '{}' ({}): {}: {}", node.id, node.name, name_of(node.kind), rule.name, wrong);
    }
  }
  return "";
}

}  // namespace

std::string verify(const Graph& graph) {
  for (const GraphRule& rule : kGraphRules) {
    if (const Complaint wrong = rule.check(graph); !wrong.empty()) return fmt::format("{}: {}", rule.name, wrong);
  }
  Context context{graph, GuardedEquality(graph.guards), {}};
  context.defined.assign(static_cast<size_t>(graph.value_count()), 0);
  for (ValueId id : graph.inputs) context.defined[static_cast<size_t>(id)] = 1;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).is_constant()) context.defined[static_cast<size_t>(id)] = 1;
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (std::string wrong = check_node(context, node); !wrong.empty()) return wrong;
    for (ValueId output : node.outputs) {
      if (output != kNone) context.defined[static_cast<size_t>(output)] = 1;
    }
  }
  for (ValueId id : graph.outputs) {
    if (context.defined[static_cast<size_t>(id)] == 0) {
      return fmt::format("outputs: nothing computes %{}", graph.value(id).name);
    }
  }
  return "";
}

}  // namespace planwright::ir
