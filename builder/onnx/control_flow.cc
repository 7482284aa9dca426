// If, Loop and Scan: bodies become graphs of their own, or, where the number of iterations is known and small, are
// imported once for each.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "builder/ir/control.h"
#include "builder/ir/results.h"
#include "builder/onnx/graph_check.h"
#include "builder/onnx/graph_importer.h"
#include "builder/onnx/loop_parts.h"
#include "builder/onnx/shape_check.h"

namespace planwright::builder::importer {
namespace {

using Body = std::shared_ptr<ir::Graph>;

constexpr const char* kBranches[] = {"then_branch", "else_branch"};

Emitter emitter_for(const Scope& scope, const std::string& layer) {
  return {*scope.graph, layer, scope.onnx, layer + ":part"};
}

[[noreturn]] void invalid(const std::string& layer, const onnx::NodeProto& node, const std::string& what) {
  throw Error(StatusCode::kInvalid, fmt::format("{} ({}): {}", layer, node.op_type(), what));
}

bool is_one(const ir::Value& value, DType dtype) { return value.dtype == dtype && ir::product(value.dims) == Dim(1); }

std::string text_of(const ir::Value& value) { return name_of(value.dtype) + ir::to_string(value.dims); }

bool same_dims(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return ir::proven_equal(x, y); });
}

// The one element of a value, where it is known.
std::optional<int64_t> constant_of(const ir::Value& value) {
  if (!value.elements || value.elements->size() != 1 || !(*value.elements)[0].is_constant()) return std::nullopt;
  return (*value.elements)[0].constant();
}

ir::Node& add_node(Scope& scope, OpKind kind, ir::Params params, std::vector<ValueId> inputs,
                   std::vector<ValueId> outputs, std::vector<Body> bodies, const std::string& layer,
                   const std::string& onnx) {
  ir::Node& node = scope.graph->add_node(kind, std::move(params), std::move(inputs), std::move(outputs));
  node.bodies = std::move(bodies);
  node.name = layer;
  node.onnx = {onnx};
  return node;
}

void set_outputs(const Scope& inner, const std::vector<ValueId>& values) {
  inner.graph->name = inner.layer;
  for (const ValueId id : values) {
    inner.graph->outputs.push_back(id);
    inner.graph->output_names.push_back(inner.graph->value(id).name);
  }
}

// Iterations times nodes up to which a Loop is written out: constants reach further then, and nothing is decided or
// copied between iterations.
constexpr int64_t kMaxUnrolled = 256;

bool wants(const onnx::NodeProto& node, size_t output) {
  return output < static_cast<size_t>(node.output_size()) && !node.output(static_cast<int>(output)).empty();
}

bool stacks(const onnx::NodeProto& node, const LoopParts& parts) {
  for (size_t i = 0; i < parts.stacked.size(); ++i) {
    if (wants(node, parts.carried.size() + i)) return true;
  }
  return false;
}

bool may_unroll(const LoopParts& parts) {
  if (!parts.trip_count || !parts.trip_count->is_constant()) return false;
  const int64_t trips = parts.trip_count->constant();
  return trips > 0 && trips <= kMaxUnrolled / std::max(1, parts.body->node_size());
}

void add_formal(Scope& inner, const std::string& name, const ir::Value& like) {
  inner.values[name] = inner.graph->add_value(name, like.dtype, like.dims).id;
  inner.graph->inputs.push_back(inner.values[name]);
}

// Whether a shape may change with the iteration of the Loop whose body this is: it is of the iteration's number, or of
// what the body computes.
bool depends_on(const Shape& dims, const ir::Graph& body) {
  const int32_t iteration = ir::symbol_of((*body.value(body.inputs[0]).elements)[0]);
  const std::vector<int> used = ir::symbols_of(dims);
  return !ir::results_in(body, dims).empty() || std::find(used.begin(), used.end(), iteration) != used.end();
}

// One iteration's slice of what is sliced.
ValueId slice_of(Emitter& emitter, ValueId whole, Dim iteration, const LoopParts& parts, bool backwards) {
  const Dim at = backwards ? *parts.trip_count - 1 - iteration : iteration;
  const ValueId slice = emitter.slice(whole, 0, at, 1);
  return emitter.reshape(slice, Shape(emitter.dims(slice).begin() + 1, emitter.dims(slice).end()));
}

// What iterations made, along a first axis, as the model wants it.
ValueId placed_stack(Emitter& emitter, ValueId stack, const LoopParts::Stacked& wanted) {
  if (wanted.backwards) {
    const Shape dims = emitter.dims(stack);
    Operation reverse{OpKind::kSlice, SliceParams{}, {stack}};
    reverse.scalars.assign(dims.size(), Dim(0));
    reverse.scalars[0] = dims[0] - 1;
    reverse.scalars.insert(reverse.scalars.end(), dims.size(), Dim(1));
    reverse.scalars[dims.size()] = -1;
    reverse.results[0].dims = dims;
    stack = emitter.emit_one(std::move(reverse));
  }
  const int rank = emitter.rank(stack);
  const int64_t axis = wanted.axis < 0 ? wanted.axis + rank : wanted.axis;
  if (axis < 0 || axis >= rank) {
    throw Error(StatusCode::kInvalid,
                fmt::format("{}: scan output axis {} is not in [{}, {})", emitter.layer(), wanted.axis, -rank, rank));
  }
  std::vector<int> perm;
  for (int i = 1; i < rank; ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  return emitter.transpose(stack, perm);
}

}  // namespace

// A branch of an If as a graph of its own.
struct GraphImporter::Branch {
  const onnx::GraphProto* proto;
  Body graph;
  Scope inner;
  std::vector<ValueId> made;  // its outputs
  std::string fault;          // why it can never run

  const ir::Value& value(size_t output) const { return graph->value(made[output]); }
};

// Where two branches' tensors differ in the length of their first axis alone: a length that holds both.
std::optional<Dim> GraphImporter::room_for(const std::vector<Branch>& branches, size_t output) {
  Dim room = 0;
  const Shape& other = branches[0].value(output).dims;
  for (const Branch& branch : branches) {
    const Shape& dims = branch.value(output).dims;
    if (dims.empty() || dims.size() != other.size()) return std::nullopt;
    const Shape rest(dims.begin() + 1, dims.end());
    if (!same_dims(rest, Shape(other.begin() + 1, other.end())) || !ir::results_in(*branch.graph, rest).empty()) {
      return std::nullopt;
    }
    // What only the branch computes is not known around it; how large it may become is.
    const bool is_inner = !ir::results_in(*branch.graph, {dims[0]}).empty();
    room = ir::max(room, is_inner ? Dim(ir::range_of(dims[0]).max) : dims[0]);
  }
  return room;
}

// The branch makes the output as long as `room`, and one output more: how much of that counts.
void GraphImporter::fill_room(Branch& branch, size_t output, Dim room, const std::string& layer) {
  Emitter emitter = emitter_for(branch.inner, layer);
  Shape dims = branch.value(output).dims;
  const Dim length = dims[0];
  branch.made.push_back(emitter.shape_values(DType::kI64, {Dim(1)}, {length}));
  if (ir::proven_equal(length, room)) return;
  Operation pad{OpKind::kPad, PadParams{}, {branch.made[output]}, Shape(2 * dims.size(), Dim(0))};
  pad.scalars[dims.size()] = room - length;
  dims[0] = room;
  pad.results[0].dims = dims;
  branch.made[output] = emitter.emit_one(std::move(pad));
}

// A Loop's body as a graph of its own.
struct GraphImporter::LoopBody {
  Body graph;
  Scope inner;
  std::vector<const LoopParts::Carried*> carried;  // those that iterations change
  std::vector<ValueId> firsts;                     // of the condition, where there is one, and of what is carried
  std::vector<ValueId> made;                       // the body's outputs
  bool has_condition = false;
  bool may_end = false;  // the body makes a condition that is not known to be true
  std::string fault;     // why it cannot run as it is
};

ValueId GraphImporter::capture(Scope& scope, ValueId id) {
  if (Scope::is_list(id)) {
    List list = lists_[static_cast<size_t>(Scope::kFirstList - id)];
    for (ValueId& element : list.elements) element = capture(scope, element);
    return add_list(std::move(list.elements), list.is_absent);
  }
  const auto [entry, is_new] = scope.captured.try_emplace(id, ir::kNone);
  if (!is_new) return entry->second;
  const ir::Value& outside = scope.outer->graph->value(id);
  ir::Value& inside = scope.graph->add_value(outside.name, outside.dtype, outside.dims);
  inside.elements = outside.elements;
  inside.constant = outside.constant;
  const bool is_shape = emitter_for(*scope.outer, scope.layer).is_virtual(id);  // computed again where it is needed
  if (!outside.is_constant() && !is_shape) {
    scope.graph->inputs.push_back(inside.id);
    scope.captures.push_back(id);
  }
  return entry->second = inside.id;
}

bool GraphImporter::import_body(const onnx::GraphProto& proto, Scope& inner, const std::vector<std::string>& names,
                                std::vector<ValueId>* outputs) {
  const size_t refused = unsupported_.size();
  for (const onnx::NodeProto* child : needed_nodes(proto)) import_node(*child, inner);
  if (unsupported_.size() > refused) return false;
  Emitter emitter = emitter_for(inner, inner.layer);
  for (const std::string& name : names) {
    const std::optional<ValueId> made = find(inner, name);
    if (!made || *made == ir::kNone) {
      throw Error(StatusCode::kInvalid, fmt::format("{}: nothing makes output '{}' of a body", inner.layer, name));
    }
    if (*made == Scope::kUnknown) return false;
    if (*made == kText) throw Refusal(inner.layer, fmt::format("'{}' is of strings, which are not supported", name));
    if (Scope::is_list(*made) && inner.graph != inner.outer->graph) {
      throw Refusal(inner.layer,
                    fmt::format("'{}' is a sequence; hand tensors out of what runs with the engine", name));
    }
    outputs->push_back(*made);
  }
  return true;
}

void GraphImporter::import_control(const onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& inputs,
                                   const std::string& layer) {
  if (node.op_type() == "If") {
    if (inputs.empty() || inputs[0] < 0) invalid(layer, node, "it has no condition");
    return import_if(node, scope, inputs[0], layer);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_carried = node.op_type() == "Loop" && i >= 2;
    if (Scope::is_list(inputs[i]) && !is_carried) invalid(layer, node, fmt::format("input {} is a sequence", i));
  }
  Emitter emitter = emitter_for(scope, layer);
  import_loop(node, scope,
              node.op_type() == "Loop" ? read_loop(node, emitter, inputs) : read_scan(node, emitter, inputs), layer);
}

std::optional<GraphImporter::Branch> GraphImporter::import_if_body(const onnx::GraphProto& proto,
                                                                   const onnx::NodeProto& node, Scope& scope,
                                                                   const std::string& layer) {
  if (proto.output_size() < node.output_size()) {
    invalid(layer, node, fmt::format("a branch has {} outputs, not {}", proto.output_size(), node.output_size()));
  }
  std::vector<std::string> names;
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) names.push_back(proto.output(i).name());
  }
  Branch branch{&proto, std::make_shared<ir::Graph>(scope.graph->expr_pool()), {}, {}, ""};
  branch.inner = inner_scope(proto, node, scope, layer, branch.graph.get());
  try {
    if (!import_body(proto, branch.inner, names, &branch.made)) return std::nullopt;
  } catch (const Error& error) {
    if (error.code() != StatusCode::kInvalid) throw;
    branch.fault = error.what();
  }
  return branch;
}

void GraphImporter::import_only_branch(const onnx::NodeProto& node, Scope& scope, ValueId condition,
                                       const std::string& layer, const Branch& failing) {
  const bool taken = failing.proto != &graph_attribute(node, kBranches[0]);
  Emitter emitter = emitter_for(scope, layer);
  emitter.materialize(condition);
  const Dim choice = emitter.read_count(emitter.cast(condition, DType::kI64), 1);
  emitter.guard_equal(
      choice, taken ? 1 : 0,
      fmt::format("{} cannot run at the profile's shapes ({})", kBranches[taken ? 1 : 0], failing.fault));
  graph_.warnings.push_back(fmt::format("{}: {} cannot run at the profile's shapes, so taking it is refused: {}", layer,
                                        kBranches[taken ? 1 : 0], failing.fault));
  import_branch(graph_attribute(node, kBranches[taken ? 0 : 1]), node, scope, layer);
}

void GraphImporter::import_if(const onnx::NodeProto& node, Scope& scope, ValueId condition, const std::string& layer) {
  if (!is_one(scope.graph->value(condition), DType::kBool)) invalid(layer, node, "its condition is not one bool");
  std::vector<std::string> wanted;
  for (const std::string& name : node.output()) {
    if (!name.empty()) wanted.push_back(name);
  }
  std::vector<ValueId> inputs{condition};
  std::string onnx;
  std::vector<Branch> branches;
  for (const char* name : kBranches) {
    std::optional<Branch> branch = import_if_body(graph_attribute(node, name), node, scope, layer);
    if (!branch) return;
    branches.push_back(std::move(*branch));
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    const bool both_fail = !branches[1 - i].fault.empty();
    if (branches[i].fault.empty()) continue;
    if (both_fail) throw Error(StatusCode::kInvalid, branches[i].fault);
    return import_only_branch(node, scope, condition, layer, branches[i]);
  }
  std::vector<std::optional<Dim>> rooms;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ir::Value &a = branches[0].value(i), &b = branches[1].value(i);
    if (a.dtype != b.dtype) {
      invalid(layer, node,
              fmt::format("output '{}' is {} in one branch, {} in the other", wanted[i], text_of(a), text_of(b)));
    }
    rooms.push_back(same_dims(a.dims, b.dims) ? std::nullopt : room_for(branches, i));
    if (rooms[i]) continue;
    if (!same_dims(a.dims, b.dims)) {
      throw Refusal(layer,
                    fmt::format("output '{}' is {} in one branch, {} in the other, which differ in more than the "
                                "length of the first axis; give both one shape, or make the condition a constant",
                                wanted[i], text_of(a), text_of(b)));
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!rooms[i]) continue;
    for (Branch& branch : branches) fill_room(branch, i, *rooms[i], layer);
  }
  for (Branch& branch : branches) {
    for (const ValueId id : branch.made) emitter_for(branch.inner, layer).materialize(id);
    set_outputs(branch.inner, branch.made);
    inputs.insert(inputs.end(), branch.inner.captures.begin(), branch.inner.captures.end());
    onnx = branch.inner.onnx;
  }
  const ValueId first_made = scope.graph->value_count();
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < branches[0].made.size(); ++i) {
    const ir::Value &a = branches[0].value(i), &b = branches[1].value(i);
    ir::Value& output = scope.graph->add_value(layer + ":part", a.dtype, a.dims);
    if (a.elements && a.elements == b.elements) output.elements = a.elements;
    outputs.push_back(output.id);
  }
  Emitter emitter = emitter_for(scope, layer);
  emitter.materialize(condition);
  add_node(scope, OpKind::kIf, NoParams{}, std::move(inputs), outputs, {branches[0].graph, branches[1].graph}, layer,
           onnx);
  size_t next_count = wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ValueId result =
        rooms[i] ? emitter.slice(outputs[i], 0, 0, emitter.read_count(outputs[next_count++], *rooms[i])) : outputs[i];
    scope.values[wanted[i]] = result;
    name_value(result, first_made, scope, wanted[i]);
  }
}

bool GraphImporter::import_loop_body(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts,
                                     const std::string& layer, LoopBody* body) {
  ir::Graph& outside = *scope.graph;
  body->graph = std::make_shared<ir::Graph>(outside.expr_pool());
  body->inner = inner_scope(*parts.body, node, scope, layer, body->graph.get());
  Scope& inner = body->inner;

  const int64_t trips = parts.trip_count ? ir::range_of(*parts.trip_count).max : INT64_MAX;
  const Dim iteration = outside.exprs().add_symbol(
      {ir::SymbolOrigin::kStepResult, ir::kNone, 0, 0, std::max<int64_t>(trips, 1) - 1, layer + ":iteration"});
  ir::Value& formal = inner.graph->add_value(layer + ":iteration", DType::kI64, {});
  formal.elements = Shape{iteration};
  inner.graph->inputs.push_back(formal.id);
  if (!parts.iteration.empty()) inner.values[parts.iteration] = formal.id;

  std::vector<std::string> names;
  Emitter emitter = emitter_for(inner, layer);
  if (body->has_condition) {
    body->firsts.push_back(parts.condition == ir::kNone ? emitter_for(scope, layer).scalar(DType::kBool, 1)
                                                        : parts.condition);
    add_formal(inner, parts.condition_in, outside.value(body->firsts[0]));
    names.push_back(parts.condition_out);
  } else if (!parts.condition_in.empty()) {
    inner.values[parts.condition_in] = emitter.scalar(DType::kBool, 1);
  }
  for (const LoopParts::Carried& carried : parts.carried) {
    if (carried.in == carried.out) continue;
    add_formal(inner, carried.in, outside.value(carried.first));
    names.push_back(carried.out);
    body->firsts.push_back(carried.first);
    body->carried.push_back(&carried);
  }
  for (const LoopParts::Carried& carried : parts.carried) {
    if (carried.in == carried.out) inner.values[carried.in] = capture(inner, carried.first);
  }
  for (const LoopParts::Sliced& sliced : parts.sliced) {
    inner.values[sliced.in] = slice_of(emitter, capture(inner, sliced.whole), iteration, parts, sliced.backwards);
  }
  for (const LoopParts::Stacked& stacked : parts.stacked) names.push_back(stacked.out);
  if (!body->has_condition && !parts.condition_out.empty()) names.push_back(parts.condition_out);
  if (!import_body(*parts.body, inner, names, &body->made)) return false;

  if (!body->has_condition && !parts.condition_out.empty()) {
    body->may_end = constant_of(inner.graph->value(body->made.back())).value_or(0) == 0;
    body->made.pop_back();
  }
  for (size_t i = 0; i < body->firsts.size(); ++i) {
    const ir::Value& first = outside.value(body->firsts[i]);
    const bool is_condition = body->has_condition && i == 0;
    if (is_condition && is_one(inner.graph->value(body->made[i]), DType::kBool)) {
      body->made[i] = emitter.reshape(body->made[i], first.dims);
    }
    const ir::Value& made = inner.graph->value(body->made[i]);
    if (made.dtype != first.dtype) {
      invalid(
          layer, node,
          fmt::format("'{}' is {} before the first iteration, {} after it", names[i], text_of(first), text_of(made)));
    }
    if (!same_dims(made.dims, first.dims)) {
      body->fault = fmt::format("'{}' is {} before an iteration, {} after it; give it one shape", names[i],
                                text_of(first), text_of(made));
    }
  }
  return true;
}

void GraphImporter::import_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts,
                                const std::string& layer) {
  const std::optional<int64_t> condition =
      parts.condition == ir::kNone ? 1 : constant_of(scope.graph->value(parts.condition));
  const size_t refused = unsupported_.size();
  LoopBody body;
  // Most conditions only say true: seen so first.
  body.has_condition = condition != 1;
  const bool unrolls = may_unroll(parts) && !body.has_condition;
  const bool never_runs = condition == 0 || (parts.trip_count && *parts.trip_count == Dim(0));
  if (never_runs && !stacks(node, parts)) {
    std::vector<ValueId> firsts;
    for (const LoopParts::Carried& carried : parts.carried) firsts.push_back(carried.first);
    return bind_results(node, scope, firsts.size(), firsts, scope.graph->value_count());
  }
  const bool has_lists = std::any_of(parts.carried.begin(), parts.carried.end(),
                                     [](const auto& carried) { return Scope::is_list(carried.first); });
  if (has_lists && !unrolls) {
    for (const onnx::NodeProto* child : needed_nodes(*parts.body)) {
      judge_by_name(*child, inner_scope(*parts.body, node, scope, layer, scope.graph));
    }
    throw Refusal(layer, never_runs ? "it never runs, and outputs a stack beside the sequence that it carries; take "
                                      "the sequence itself"
                                    : "it carries a sequence through iterations whose number is not known, or large; "
                                      "stack tensors");
  }
  bool done = !has_lists && import_loop_body(node, scope, parts, layer, &body);
  if (done && parts.trips == ir::kNone && !body.has_condition && !body.may_end) {
    invalid(layer, node, "neither a trip count nor a condition ends it");
  }
  if (unrolls && !body.may_end) {
    unsupported_.resize(refused);
    return unroll_loop(node, scope, parts, layer);
  }
  if (done && body.may_end) {
    body = {};
    body.has_condition = true;
    done = import_loop_body(node, scope, parts, layer, &body);
  }
  if (!done) return;
  if (!body.fault.empty()) throw Refusal(layer, body.fault);
  add_loop(node, scope, parts, layer, &body);
}

void GraphImporter::unroll_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts,
                                const std::string& layer) {
  const ValueId first_made = scope.graph->value_count();
  std::vector<std::string> names;
  std::vector<ValueId> state;
  for (const LoopParts::Carried& carried : parts.carried) {
    state.push_back(carried.first);
    names.push_back(carried.out);
  }
  for (const LoopParts::Stacked& stacked : parts.stacked) names.push_back(stacked.out);
  if (!parts.condition_out.empty()) names.push_back(parts.condition_out);
  std::vector<std::vector<ValueId>> slices(parts.stacked.size());
  Emitter emitter = emitter_for(inner_scope(*parts.body, node, scope, layer, scope.graph), layer);
  bool goes_on = true;
  for (int64_t trip = 0; goes_on && trip < parts.trip_count->constant(); ++trip) {
    Scope inner = inner_scope(*parts.body, node, scope, layer, scope.graph);
    inner.layer = fmt::format("{}/{}", layer, trip);
    if (!parts.iteration.empty()) inner.values[parts.iteration] = emitter.shape_values(DType::kI64, {}, {trip});
    if (!parts.condition_in.empty()) inner.values[parts.condition_in] = emitter.scalar(DType::kBool, 1);
    for (size_t i = 0; i < state.size(); ++i) inner.values[parts.carried[i].in] = state[i];
    for (const LoopParts::Sliced& sliced : parts.sliced) {
      inner.values[sliced.in] = slice_of(emitter, sliced.whole, trip, parts, sliced.backwards);
    }
    std::vector<ValueId> made;
    if (!import_body(*parts.body, inner, names, &made)) return;
    for (size_t i = 0; i < state.size(); ++i) state[i] = made[i];
    for (size_t i = 0; i < slices.size(); ++i) slices[i].push_back(made[state.size() + i]);
    if (parts.condition_out.empty()) continue;
    const std::optional<int64_t> condition =
        made.back() < 0 ? std::nullopt : constant_of(scope.graph->value(made.back()));
    if (!condition) throw Refusal(layer, "its condition depends on data; make its carried values keep their shapes");
    goes_on = *condition != 0;
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!wants(node, parts.carried.size() + i)) continue;
    for (ValueId& slice : slices[i]) {
      if (Scope::is_list(slice)) invalid(layer, node, "it stacks sequences");
      slice = emitter.unsqueeze(slice, 0);
    }
    state.push_back(placed_stack(emitter, emitter.concat(slices[i], 0), parts.stacked[i]));
  }
  bind_results(node, scope, parts.carried.size(), state, first_made);
}

void GraphImporter::add_loop(const onnx::NodeProto& node, Scope& scope, const LoopParts& parts,
                             const std::string& layer, LoopBody* body) {
  ir::Graph& graph = *scope.graph;
  const ValueId first_made = graph.value_count();
  const size_t carried = body->firsts.size();
  Emitter emitter = emitter_for(body->inner, layer), outside(graph, layer, body->inner.onnx, layer + ":part");
  std::vector<ValueId> inputs{parts.trips}, outputs{graph.add_value(layer + ":iterations", DType::kI64, {}).id};
  inputs.insert(inputs.end(), body->firsts.begin(), body->firsts.end());
  inputs.insert(inputs.end(), body->inner.captures.begin(), body->inner.captures.end());
  for (const ValueId input : inputs) {
    if (input != ir::kNone) outside.materialize(input);
  }

  std::vector<ValueId> made(body->made.begin(), body->made.begin() + static_cast<ptrdiff_t>(carried));
  for (size_t i = 0; i < carried; ++i) {
    const ir::Value first = graph.value(body->firsts[i]);
    outputs.push_back(graph.add_value(layer + ":part", first.dtype, first.dims).id);
  }
  std::vector<size_t> wanted;
  for (size_t i = 0; i < parts.stacked.size(); ++i) {
    if (!wants(node, parts.carried.size() + i)) continue;
    if (!parts.trip_count) {
      throw Refusal(layer,
                    fmt::format("how many iterations may be stacked in '{}' is not known before the engine runs; "
                                "make the trip count a constant or an input with a range of values",
                                node.output(static_cast<int>(parts.carried.size() + i))));
    }
    const ir::Value slice = body->inner.graph->value(body->made[carried + i]);
    if (depends_on(slice.dims, *body->inner.graph)) {
      throw Refusal(layer, fmt::format("'{}' has another shape {} in every iteration, so it cannot be stacked",
                                       parts.stacked[i].out, ir::to_string(slice.dims)));
    }
    Shape dims = slice.dims;
    dims.insert(dims.begin(), *parts.trip_count);
    check_shape(dims, layer);
    made.push_back(slice.id);
    wanted.push_back(i);
    outputs.push_back(graph.add_value(layer + ":part", slice.dtype, dims).id);
  }
  for (const ValueId id : made) emitter.materialize(id);
  set_outputs(body->inner, made);
  ir::LoopParams params{static_cast<int32_t>(carried), body->has_condition ? 1 : 0};
  add_node(scope, OpKind::kLoop, params, std::move(inputs), outputs, {body->graph}, layer, body->inner.onnx);

  std::vector<ValueId> results;
  size_t next = body->has_condition ? 2 : 1;
  for (const LoopParts::Carried& value : parts.carried) {
    results.push_back(value.in == value.out ? value.first : outputs[next++]);
  }
  // There is room for all iterations; a condition may end them sooner.
  std::optional<Dim> done;
  if (body->has_condition && !wanted.empty()) done = outside.read_count(outputs[0], *parts.trip_count);
  for (const size_t i : wanted) {
    const ValueId stack = done ? outside.slice(outputs[next], 0, 0, *done) : outputs[next];
    results.push_back(placed_stack(outside, stack, parts.stacked[i]));
    ++next;
  }
  bind_results(node, scope, parts.carried.size(), results, first_made);
}

void GraphImporter::bind_results(const onnx::NodeProto& node, Scope& scope, size_t carried,
                                 const std::vector<ValueId>& results, ValueId first_made) {
  size_t next_stack = carried;
  for (size_t i = 0; i < static_cast<size_t>(node.output_size()); ++i) {
    if (!wants(node, i)) continue;
    const std::string& name = node.output(static_cast<int>(i));
    scope.values[name] = results[i < carried ? i : next_stack++];
    name_value(scope.values[name], first_made, scope, name);
  }
}

}  // namespace planwright::builder::importer
