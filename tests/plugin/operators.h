// Operators that tests register: well behaved ones, and ones that are not.
#ifndef PLANWRIGHT_TESTS_PLUGIN_OPERATORS_H_
#define PLANWRIGHT_TESTS_PLUGIN_OPERATORS_H_

#include <planwright/plugin.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "schemas/types/error.h"

namespace planwright::tests {

inline int say(int status, char* message, const char* words) {
  std::snprintf(message, PW_MESSAGE_BYTES, "%s", words);
  return status;
}

// One input, one output like it, no parameters, any type; run() does nothing.
inline pw_operator plain_operator(const char* name) {
  pw_operator op = {};
  op.struct_size = sizeof op;
  op.domain = "test";
  op.name = name;
  op.version = 1;
  op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
  op.shape = [](pw_node* node, void*, char*) { return pw_output_like_input(node, 0, 0), int{PW_OK}; };
  op.check = [](const pw_step* step, char* message) {
    const pw_tensor &x = step->inputs[0], &y = step->outputs[0];
    return x.dtype == y.dtype && pw_same_dims(&x, &y) ? int{PW_OK} : say(PW_INVALID, message, "X and Y differ");
  };
  op.run = [](const pw_step*, int64_t, char*) { return int{PW_OK}; };
  return op;
}

inline int add_operators(const std::vector<pw_operator>& operators) {
  std::vector<const pw_operator*> list;
  for (const pw_operator& op : operators) list.push_back(&op);
  const pw_plugin plugin = {sizeof(pw_plugin), PW_PLUGIN_ABI, list.data(), list.size()};
  return pw_register_plugin(&plugin);
}

// Sums(X float[n, m], bias double[m]: optional) -> sums of the columns double[m] (, the number of rows int64[]).
// Adds up in its workspace.
inline pw_operator sums_operator() {
  pw_operator op = plain_operator("Sums");
  op.max_inputs = 2;
  op.max_outputs = 2;
  op.shape = [](pw_node* node, void*, char* message) {
    if (node->inputs[0].rank != 2) return say(PW_UNSUPPORTED, message, "X must be a matrix");
    const pw_dim columns = node->input_dim(node, 0, 1);
    if (node->input_count > 1)
      node->require_equal(node, columns, node->input_dim(node, 1, 0), "a bias for each column");
    node->set_output(node, 0, PW_FLOAT64, 1, &columns);
    if (node->output_count > 1) node->set_output(node, 1, PW_INT64, 0, nullptr);
    return int{PW_OK};
  };
  op.check = [](const pw_step* step, char* message) {
    const pw_tensor &x = step->inputs[0], &y = step->outputs[0];
    bool fits = x.dtype == PW_FLOAT32 && x.rank == 2 && y.dtype == PW_FLOAT64 && y.rank == 1 && y.dims[0] == x.dims[1];
    if (step->input_count > 1 && step->inputs[1].given) {
      fits = fits && step->inputs[1].dtype == PW_FLOAT64 && pw_same_dims(&step->inputs[1], &y);
    }
    if (step->output_count > 1 && step->outputs[1].given) {
      fits = fits && step->outputs[1].dtype == PW_INT64 && step->outputs[1].rank == 0;
    }
    return fits ? int{PW_OK} : say(PW_INVALID, message, "operands do not fit a sum of columns");
  };
  op.workspace = [](const pw_step* step) { return static_cast<size_t>(step->inputs[0].dims[1]) * sizeof(double); };
  op.run = [](const pw_step* step, int64_t, char* message) {
    const int64_t rows = step->inputs[0].dims[0], columns = step->inputs[0].dims[1];
    if (step->workspace_bytes < static_cast<size_t>(columns) * sizeof(double)) {
      return say(PW_PRECONDITION, message, "too little workspace");
    }
    auto* sums = static_cast<double*>(step->workspace);
    const auto* x = static_cast<const float*>(step->inputs[0].data);
    const bool has_bias = step->input_count > 1 && step->inputs[1].given;
    for (int64_t c = 0; c < columns; ++c) sums[c] = has_bias ? static_cast<const double*>(step->inputs[1].data)[c] : 0;
    for (int64_t i = 0; i < rows * columns; ++i) sums[i % columns] += static_cast<double>(x[i]);
    for (int64_t c = 0; c < columns; ++c) static_cast<double*>(step->outputs[0].data)[c] = sums[c];
    if (step->output_count > 1 && step->outputs[1].given) static_cast<int64_t*>(step->outputs[1].data)[0] = rows;
    return int{PW_OK};
  };
  return op;
}

// Copies X, a float a task; refuses a negative one, by its place.
inline pw_operator positive_operator() {
  pw_operator op = plain_operator("Positive");
  op.tasks = [](const pw_step* step) { return pw_count(&step->inputs[0]); };
  op.run = [](const pw_step* step, int64_t task, char* message) {
    const float value = static_cast<const float*>(step->inputs[0].data)[task];
    if (value < 0) return say(PW_PRECONDITION, message, ("element " + std::to_string(task) + " is negative").c_str());
    static_cast<float*>(step->outputs[0].data)[task] = value;
    return int{PW_OK};
  };
  return op;
}

// Ends the process that runs it.
inline pw_operator crashing_operator() {
  pw_operator op = plain_operator("Crashing");
  op.run = [](const pw_step*, int64_t, char*) -> int { std::abort(); };
  return op;
}

// A shape() that does what its attribute `does` says.
inline pw_operator faulty_operator() {
  pw_operator op = plain_operator("Faulty");
  op.shape = [](pw_node* node, void*, char* message) {
    const pw_attribute* does = node->attribute(node, "does");
    const std::string what = does == nullptr ? "" : does->string;
    const pw_dim dim = node->input_dim(node, 0, 0);
    if (what == "nothing") return int{PW_OK};
    if (what == "a missing input") node->input_dim(node, 1, 0);
    if (what == "a missing axis") node->input_dim(node, 0, 7);
    if (what == "a dim of its own") node->combine(node, PW_DIM_ADD, 99, dim);
    if (what == "another operation") node->combine(node, 42, dim, dim);
    if (what == "a division by zero") pw_dim_of(node, PW_DIM_FLOOR_DIV, dim, 0);
    if (what == "an overflow") pw_dim_of(node, PW_DIM_MUL, pw_dim_of(node, PW_DIM_MUL, dim, INT64_MAX), INT64_MAX);
    if (what == "what cannot hold") node->require_equal(node, dim, pw_dim_of(node, PW_DIM_ADD, dim, 1), "one is none");
    if (what == "another type") node->set_output(node, 0, 99, 1, &dim);
    if (what == "a rank") node->set_output(node, 0, PW_FLOAT32, 9, &dim);
    if (what == "another output") node->set_output(node, 1, PW_FLOAT32, 1, &dim);
    if (what == "a refusal") return say(PW_UNSUPPORTED, message, "not on a Sunday");
    if (what == "a refusal without words") return int{PW_INVALID};
    node->set_output(node, 0, PW_FLOAT32, 1, &dim);
    return int{PW_OK};
  };
  return op;
}

}  // namespace planwright::tests

#endif  // PLANWRIGHT_TESTS_PLUGIN_OPERATORS_H_
