// Constants that hold small integers times scales are kept as those: weights that were quantised to be small, and that
// the model, or folding, widened again. A MatMul's get a scale for each block of rows, a Gather's table one for each
// row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"
#include "builder/passes/scaled_runs.h"

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::kNone;
using ir::ValueId;

// A run of any fewer numbers could be multiples of one by chance.
constexpr int64_t kFewestOfAScale = 16;

struct Integers {
  DType dtype;  // int8 or int4
  std::vector<int8_t> elements;
  std::vector<float> scales;  // one a run
};

// nullopt where a run holds other numbers. `run(i)`: the i-th of `count`, which are all elements together.
template <typename RunOf>
std::optional<Integers> integers_of(const float* elements, int64_t element_count, DType dtype, int64_t count,
                                    const RunOf& run) {
  Integers found = {dtype, std::vector<int8_t>(static_cast<size_t>(element_count)), {}};
  found.scales.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    found.scales.push_back(scale_of(elements, run(i), dtype, found.elements.data()));
    if (found.scales.back() == 0) return std::nullopt;
  }
  return found;
}

// The fp32 matrix that a value is, all of whose readers could do with integers.
const ir::Value* matrix_of(const ir::Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  if (!is_large_matrix(value) || graph.is_output(id)) return nullptr;
  for (const ir::NodeId user : graph.users(id)) {
    const OpKind kind = graph.node(user).kind;
    if (kind != OpKind::kMatMul && kind != OpKind::kGather) return nullptr;
  }
  return &value;
}

// What a product's weights may be: the smallest first, and the largest blocks of them.
struct Form {
  DType dtype;
  int64_t block;  // 0: all rows
};
constexpr Form kForms[] = {{DType::kI4, 0}, {DType::kI4, 128}, {DType::kI4, 64}, {DType::kI4, 32}, {DType::kI4, 16},
                           {DType::kI8, 0}, {DType::kI8, 128}, {DType::kI8, 64}, {DType::kI8, 32}, {DType::kI8, 16}};

ValueId add_integers(ir::Graph& graph, const ir::Value& of, const Integers& integers) {
  ir::Bytes data(integers.elements.size());
  std::memcpy(data.data(), integers.elements.data(), data.size());
  return graph.add_constant(of.name + "/integers", integers.dtype, constant_dims(of), std::move(data)).id;
}

ValueId add_scales(ir::Graph& graph, const ir::Value& of, const Integers& integers, const std::vector<int64_t>& dims) {
  ir::Bytes data(integers.scales.size() * sizeof(float));
  std::memcpy(data.data(), integers.scales.data(), data.size());
  return graph.add_constant(of.name + "/scales", DType::kF32, dims, std::move(data)).id;
}

const float* floats_of(const ir::Value& value) { return reinterpret_cast<const float*>(value.constant->data()); }

bool narrow_product(ir::Graph& graph, ir::Node& node) {
  const ir::Value* weights = matrix_of(graph, node.inputs[1]);
  const ir::Value& a = graph.value(node.inputs[0]);
  if (weights == nullptr || a.dtype != DType::kF32 || a.rank() < 2) return false;
  const int64_t depth = weights->dims[0].constant(), columns = weights->dims[1].constant();
  for (const Form& form : kForms) {
    const int64_t block = form.block == 0 ? depth : form.block;
    if (block < kFewestOfAScale || block > depth) continue;
    const int64_t runs = column_run_count(depth, columns, block);
    const auto run = [&](int64_t i) { return column_run(depth, columns, block, i); };
    const std::optional<Integers> integers = integers_of(floats_of(*weights), depth * columns, form.dtype, runs, run);
    if (!integers) continue;
    const ValueId scales = add_scales(graph, *weights, *integers, {runs / columns, columns});
    const ValueId elements = add_integers(graph, *weights, *integers);
    node.kind = OpKind::kBlockMatMul;
    node.params = BlockMatMulParams{block};
    node.inputs[1] = elements;
    node.inputs.insert(node.inputs.begin() + 2, scales);
    node.core_inputs = 3;
    return true;
  }
  return false;
}

bool narrow_look_up(ir::Graph& graph, ir::Node& node) {
  const ir::Value* table = matrix_of(graph, node.inputs[0]);
  const ir::Value& out = graph.value(node.outputs[0]);
  // What is done to the rows of a small table is done to the table (match_one_hot).
  if (table == nullptr || node.as<GatherParams>().axis != 0 || out.rank() < 1 ||
      ir::proven_at_most(ir::product(table->dims), ir::range_of(ir::product(out.dims)).max)) {
    return false;
  }
  const int64_t rows = table->dims[0].constant(), columns = table->dims[1].constant();
  if (columns < kFewestOfAScale) return false;
  const auto run = [&](int64_t i) { return row_run(columns, i); };
  const std::optional<Integers> integers = integers_of(floats_of(*table), rows * columns, DType::kI8, rows, run);
  if (!integers) return false;
  const ir::Shape found_dims = out.dims;
  ir::Shape scale_dims = out.dims;
  scale_dims.back() = Dim(1);
  const std::string name = out.name;
  const ValueId scales = add_scales(graph, *table, *integers, {rows, 1});
  node.inputs[0] = add_integers(graph, *table, *integers);
  const ValueId found = graph.add_value(name + "/integers", DType::kI8, found_dims).id;
  const ValueId scale = graph.add_value(name + "/scales", DType::kF32, scale_dims).id;
  ir::Node& look_up =
      graph.add_node(OpKind::kGather, node.as<GatherParams>(), {scales, node.inputs[1]}, {scale}, node.id);
  look_up.name = node.name;
  look_up.onnx = node.onnx;
  scale_behind(graph, node, found, scale);
  return true;
}

}  // namespace

bool narrow_constants(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    ir::Node& node = graph.node(id);
    if (node.kind == OpKind::kMatMul) changed |= narrow_product(graph, node);
    if (node.kind == OpKind::kGather) changed |= narrow_look_up(graph, node);
  }
  return changed;
}

}  // namespace planwright::builder
