#include "builder/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "builder/box.h"
#include "builder/choose_tactics.h"
#include "builder/emit.h"
#include "builder/passes/passes.h"
#include "builder/precision.h"
#include "builder/storage.h"
#include "planfmt/header.h"
#include "planfmt/lifetimes.h"
#include "schemas/types/error.h"
#include "tactics/kernels/control.h"
#include "tactics/kernels/registry.h"
#include "tactics/work.h"

namespace planwright::builder {
namespace {

using ir::Graph;
using ir::NodeId;

// Calls `visit` with the graph and every body in it.
void for_each_graph(const Graph& graph, const std::function<void(const Graph&)>& visit) {
  visit(graph);
  for (const NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) for_each_graph(*body, visit);
  }
}

// Adds the guards of a graph and of every body in it; `branch`: the innermost body of an If that it is or is in.
void add_guards(const Graph& graph, int32_t branch, std::vector<ir::Guard>* guards) {
  for (const ir::Guard& guard : graph.guards) guards->emplace_back(guard).branch = branch;
  for (const NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    for (const auto& body : node.bodies) {
      add_guards(*body, node.kind == OpKind::kIf ? body->number() : branch, guards);
    }
  }
}

// The loader checks a guard when what it speaks of is known; one of a branch only fails what takes the branch.
void collect_guards(Graph& graph) {
  std::vector<ir::Guard> guards;
  add_guards(graph, -1, &guards);
  graph.guards = std::move(guards);
}

// A shape that the values of an input decide must have bounds, which only the profiles can give.
void refuse_unbounded_shapes(const Graph& graph, const std::vector<Profile>& profiles) {
  const auto is_bounded = [&](const ir::Symbol& symbol) {
    // What depends on a step's result was bounded when it was imported.
    if (symbol.origin != ir::SymbolOrigin::kInputValue) return true;
    return std::all_of(profiles.begin(), profiles.end(), [&](const Profile& profile) {
      return !profile.inputs[static_cast<size_t>(symbol.source)].value_opt.empty();
    });
  };
  const auto refuse = [&](const ir::Shape& shape, const std::string& layer) {
    for (const int index : ir::symbols_of(shape)) {
      const ir::Symbol& symbol = graph.expr_pool()->symbols()[static_cast<size_t>(index)];
      if (is_bounded(symbol)) continue;
      throw Error(StatusCode::kUnsupported,
                  fmt::format("layer {}: the shapes it works at depend on {}, a value known only at run time; give the "
                              "input's values as you give shapes (--minShapes, --optShapes, --maxShapes), or make it a "
                              "constant of the model",
                              layer, symbol.name));
    }
  };
  for_each_graph(graph, [&](const Graph& part) {
    for (const NodeId id : part.order()) {
      const ir::Node& node = part.node(id);
      refuse(node.scalars, node.name);
      for (const ir::ValueId output : node.outputs) {
        if (output != ir::kNone) refuse(part.value(output).dims, node.name);
      }
    }
  });
  for (const ir::Guard& guard : graph.guards) refuse({guard.left, guard.right}, guard.layer);
}

// Before any tactic is tried at sizes that cannot be.
void check_sizes(const Graph& graph, const Box& box) {
  for_each_graph(graph, [&](const Graph& part) {
    for (const NodeId id : part.order()) {
      for (const ir::ValueId output : part.node(id).outputs) {
        if (output == ir::kNone) continue;
        const ir::Value& value = part.value(output);
        if (box.bytes_at_most(part, value) <= planfmt::kMaxBytes) continue;
        throw Error(
            StatusCode::kResource,
            fmt::format("layer {}: {} of shape {} would take more than an address space holds; lower the shapes",
                        part.node(id).name, value.name, to_string(value.dims)));
      }
    }
  });
}

// Below this a reference kernel costs some tens of microseconds, and a fast one would not be missed.
constexpr double kLeastWork = 1e4;

std::vector<std::string> layers_on_reference(const std::vector<PlannedStep>& steps) {
  std::vector<std::string> layers;
  for (const PlannedStep& step : steps) {
    const tactics::StepSpec& spec = step.opt;
    if (spec.custom != nullptr || step.choice.candidate.kernel != &reference_kernel(spec.op) ||
        tactics::work_of(spec) < kLeastWork)
      continue;
    const TensorView& operand = spec.inputs.empty() ? spec.outputs.front() : spec.inputs.front().view;
    layers.push_back(fmt::format("{}, {} {}", spec.name, name_of(spec.op), name_of(operand.dtype)));
  }
  return layers;
}

int count_onnx_nodes(const planfmt::ProgramModel& program) {
  std::set<std::string> names;
  for (const planfmt::StepModel* step : sequence_of(program).steps) names.insert(step->onnx.begin(), step->onnx.end());
  return static_cast<int>(names.size());
}

// The shapes of a profile up to its opt: nothing where those are all, or where sizes depend on inputs' values too.
std::optional<Profile> up_to_opt(const Profile& profile) {
  Profile part = profile;
  bool is_less = false;
  for (ShapeRange& range : part.inputs) {
    if (range.value_min != range.value_max) return std::nullopt;
    is_less |= range.opt != range.max;
    range.max = range.opt;
  }
  if (!is_less) return std::nullopt;
  return part;
}

}  // namespace

Graph prepare(Graph graph, const BuildOptions& options) {
  PassOptions passes;
  passes.observe = options.observe_pass;
  run_first_passes(graph, passes);
  return graph;
}

BuildResult build(Graph graph, const BuildOptions& options) {
  return build_prepared(prepare(std::move(graph), options), options);
}

BuildResult build_prepared(Graph graph, const BuildOptions& options) {
  BuildResult result;
  result.quantisable = run_last_passes(
      graph, {options.observe_pass, options.weight_only, options.precisions, options.expose_activations});
  collect_guards(graph);
  refuse_unbounded_shapes(graph, options.profiles);
  result.contractions = static_cast<int>(contractions_of(graph).size());
  std::vector<Box> boxes;
  for (const Profile& profile : options.profiles) check_sizes(graph, boxes.emplace_back(graph, profile));
  const std::vector<std::vector<PlannedStep>> programs = choose_tactics(graph, boxes, options, &result.search);
  PlanEmitter emitter(graph, options);
  for (size_t i = 0; i < programs.size(); ++i) {
    std::optional<Box> close;
    if (const std::optional<Profile> part = up_to_opt(options.profiles[i])) close.emplace(graph, *part);
    result.programs.push_back(emitter.add_program(i, boxes[i], close ? &*close : nullptr, programs[i]));
    result.programs.back().on_reference = layers_on_reference(programs[i]);
  }
  result.plan = emitter.take();
  if (!result.plan.programs.empty()) result.onnx_nodes = count_onnx_nodes(result.plan.programs.front());
  return result;
}

}  // namespace planwright::builder
