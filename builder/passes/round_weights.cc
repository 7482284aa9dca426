// Weights as few integers times scales, where the user gave leave to round them: still fp32 here, for narrow_constants
// to keep as integers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "builder/passes/passes.h"
#include "builder/passes/rewrite.h"
#include "builder/passes/scaled_runs.h"

namespace planwright::builder {
namespace {

double rounded(double value, double scale, const IntegerRange& range) {
  return std::clamp(std::nearbyint(value / scale), range.least, range.most) * scale;
}

double squared_error(const std::vector<float>& elements, const ScaledRun& run, double scale,
                     const IntegerRange& range) {
  double sum = 0;
  for (int64_t i = 0; i < run.length; ++i) {
    const double value = static_cast<double>(elements[static_cast<size_t>(run.first + i * run.step)]);
    const double error = value - rounded(value, scale, range);
    sum += error * error;
  }
  return sum;
}

// Rounds a run to multiples of the scale that loses least: of the largest element as the largest integer (of the sign
// that reaches further), and of scales that cut it off but tell the others better apart.
void round_run(std::vector<float>& elements, const ScaledRun& run, const IntegerRange& range) {
  double largest = 0;
  for (int64_t i = 0; i < run.length; ++i) {
    const double value = static_cast<double>(elements[static_cast<size_t>(run.first + i * run.step)]);
    if (!std::isfinite(value)) return;
    if (std::abs(value) > std::abs(largest)) largest = value;
  }
  constexpr double kCuts[] = {1, 0.95, 0.9, 0.85, 0.8};
  double best_scale = 0, best_error = 0;
  for (const double cut : kCuts) {
    const double scale = static_cast<double>(static_cast<float>(largest * cut / range.least));
    if (!std::isnormal(scale)) return;
    const double error = squared_error(elements, run, scale, range);
    if (best_scale == 0 || error < best_error) best_scale = scale, best_error = error;
  }
  for (int64_t i = 0; i < run.length; ++i) {
    float& element = elements[static_cast<size_t>(run.first + i * run.step)];
    element = static_cast<float>(rounded(static_cast<double>(element), best_scale, range));
  }
}

std::vector<float> elements_of(const ir::Value& value) {
  std::vector<float> elements(value.constant->size() / sizeof(float));
  std::memcpy(elements.data(), value.constant->data(), value.constant->size());
  return elements;
}

void replace_constant(ir::Value& value, const std::vector<float>& elements) {
  ir::Bytes data(elements.size() * sizeof(float));
  std::memcpy(data.data(), elements.data(), data.size());
  value.constant = std::make_shared<const ir::Bytes>(std::move(data));
}

// A scale for each column of a block of rows.
void round_columns(ir::Value& weights, const WeightRounding& rounding) {
  const int64_t depth = weights.dims[0].constant(), columns = weights.dims[1].constant();
  const int64_t block = rounding.block == 0 ? depth : rounding.block;
  const IntegerRange range = integer_range(rounding.bits);
  std::vector<float> elements = elements_of(weights);
  for (int64_t i = 0; i < column_run_count(depth, columns, block); ++i) {
    round_run(elements, column_run(depth, columns, block, i), range);
  }
  replace_constant(weights, elements);
}

// A scale for each row, and eight bits always: a look-up moves few of them.
void round_rows(ir::Value& table) {
  const int64_t rows = table.dims[0].constant(), columns = table.dims[1].constant();
  std::vector<float> elements = elements_of(table);
  for (int64_t i = 0; i < rows; ++i) round_run(elements, row_run(columns, i), integer_range(8));
  replace_constant(table, elements);
}

// Whether all readers take the value as operand `input` of `kind`.
bool is_read_by(const ir::Graph& graph, ir::ValueId id, OpKind kind, size_t input) {
  if (graph.is_output(id)) return false;
  const std::vector<ir::NodeId> users = graph.users(id);
  return std::all_of(users.begin(), users.end(), [&](ir::NodeId user) {
    const ir::Node& node = graph.node(user);
    return node.kind == kind && node.inputs[input] == id && std::count(node.inputs.begin(), node.inputs.end(), id) == 1;
  });
}

}  // namespace

bool round_weights(ir::Graph& graph, const WeightRounding& rounding) {
  bool changed = false;
  std::vector<ir::ValueId> done;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const bool is_product = node.kind == OpKind::kMatMul;
    if (!is_product && !(node.kind == OpKind::kGather && node.as<GatherParams>().axis == 0)) continue;
    const size_t input = is_product ? 1 : 0;
    ir::Value& weights = graph.value(node.inputs[input]);
    if (!is_large_matrix(weights) || !is_read_by(graph, weights.id, node.kind, input)) continue;
    if (std::find(done.begin(), done.end(), weights.id) != done.end()) continue;
    done.push_back(weights.id);
    if (is_product) {
      round_columns(weights, rounding);
    } else {
      round_rows(weights);
    }
    changed = true;
  }
  return changed;
}

}  // namespace planwright::builder
